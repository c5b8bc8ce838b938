"""A box with GPUs, measured, fitted and held against a part that was kept back: `linkcast measure`."""
