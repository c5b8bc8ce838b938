"""A page of one paper, its figures measured and forecast: `linkcast validate --paper PAPER --report DIR`."""
