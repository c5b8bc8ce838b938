"""One HTML page of results: `linkcast report`."""
