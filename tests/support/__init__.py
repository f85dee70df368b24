"""What tests of several folders share: small worlds, tiny models, stand-ins for servers, scripts of other processes."""
