"""Rows on a cluster: Dask moves the data, the search asks for joint counts."""
