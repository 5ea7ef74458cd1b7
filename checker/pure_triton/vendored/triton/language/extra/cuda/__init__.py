from . import libdevice

from .utils import (globaltimer, num_threads, num_warps, smid, convert_custom_float8_sm70, convert_custom_float8_sm80)
from .gdc import (gdc_launch_dependents, gdc_wait)

__all__ = [
    "libdevice",
    "globaltimer",
    "num_threads",
    "num_warps",
    "smid",
    "convert_custom_float8_sm70",
    "convert_custom_float8_sm80",
    "gdc_launch_dependents",
    "gdc_wait",
]
