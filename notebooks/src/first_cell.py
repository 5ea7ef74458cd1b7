# Run this cell first. In Colab it fetches the course (about a minute); elsewhere, it just locates your copy.
import subprocess
import sys
from pathlib import Path

if "google.colab" in sys.modules:
    ADDRESS, COURSE = "{{address}}", Path("/content/tile-by-tile")
    if not ADDRESS and not COURSE.exists():
        raise RuntimeError('Set ADDRESS in this cell to the repository you opened this notebook from ("https://…").')
    if not COURSE.exists():
        subprocess.run(["git", "clone", "--quiet", "--depth=1", ADDRESS, str(COURSE)], check=True)
    subprocess.run([sys.executable, str(COURSE / "tools" / "colab.py")], check=True)
else:
    COURSE = next((p for p in [Path.cwd(), *Path.cwd().parents] if (p / "checker").is_dir()), Path.cwd())
sys.path.insert(0, str(COURSE))

from checker import check, doctor, film, hint, predicted, progress, reset

doctor(brief=True)
