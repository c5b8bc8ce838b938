"""Figures and tables of the documentation, measured and forecast: a program each; they run in a checkout."""
