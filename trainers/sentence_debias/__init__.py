"""SentenceDebias (Liang et al. 2020): directions of a group are taken out of an encoder's embeddings."""
