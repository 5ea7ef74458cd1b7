"""What a page in a browser needs to judge kernels with nothing installed: a small torch, and a runner in the page's own process."""
