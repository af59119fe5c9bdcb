"""The plots, as Vega-Lite specifications."""
