"""Trainer subclasses, configs and callbacks that mitigate bias."""
