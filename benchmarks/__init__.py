"""Speed against peers: `python -m benchmarks` from the top folder of the project."""
