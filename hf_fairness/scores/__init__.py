"""Arrays in, named numbers out: numpy and scipy only, no model, no file.

One module per score; ``statistics`` holds every interval and every permutation, ``vectors`` the checks of
embeddings.
"""
