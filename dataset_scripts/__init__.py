"""Builders that turn raw sources into documented parquet data sets."""
