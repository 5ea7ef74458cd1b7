"""A class in one room: run sheets, slides, a folder for rooms without network, and the live board to which notebooks report after `join`."""
