from triton._C.libtriton.linear_layout import LinearLayout
