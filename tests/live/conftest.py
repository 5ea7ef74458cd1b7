from tests.pure_triton.conftest import without_triton

__all__ = ["without_triton"]
