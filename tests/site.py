"""The guide as a site: `python -m tests.site FOLDER` gathers its sources, `make docs` builds it.

The pages are those of the guide, whose examples are tested; the figures are drawn here, and the schemas made.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path

from calcli.cli.main import FINE, status_of
from calcli.core.language.figures import FIGURES
from calcli.guide import PAGES, page_text
from calcli.work.schema import DOCUMENTS, schema_of

ROOT = Path(__file__).resolve().parents[1]
SAMPLES = ROOT / "sample_data"
BESIDE = {  # documents at the root, by the name that they have in the site
    "README.md": "index.md", "CHANGELOG.md": "changes.md", "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md", "sample_data/README.md": "sample-data.md",
}  # fmt: skip
USUAL, TWO = "digits_network_test.npy", "cancer_bayes_test.csv"
DRAWN = {  # of what, and how, where a figure is not of the usual file
    "slices": ["release_1.parquet", "--by", "ink"],
    "epochs": [f"epochs/epoch_{n:02d}.parquet" for n in range(1, 11)],
    "divergence": [TWO],
    "risk": [TWO],
    "weighted-risk": [TWO],
    "simplex": ["iris_logistic_test.csv"],
    "refinement": [],
    "calibration-map": [
        "iris_logistic_test.csv",
        "--calibrator",
        str(ROOT / "tests" / "kept" / "1.0" / "calibrator.json"),
    ],
}


def gather(folder: Path) -> None:
    """Write the pages, the picture, the figures and the schemas into an empty folder."""
    for name, target in BESIDE.items():
        (folder / target).write_text(_linked((ROOT / name).read_text(encoding="utf-8")), encoding="utf-8")
    shutil.copy(ROOT / ".github" / "page.png", folder / "page.png")
    for page in PAGES:
        (folder / f"{page}.md").write_text(_linked(page_text(page)), encoding="utf-8")
    (folder / "schemas").mkdir()
    for name in DOCUMENTS:
        (folder / "schemas" / f"{name}.json").write_text(json.dumps(schema_of(name), indent=2))
    with (folder / "figures.md").open("a", encoding="utf-8") as page:
        page.write("\n## Drawn of the sample data\n")
        for name, kind in FIGURES.items():
            given = [str(SAMPLES / one) if "." in one else one for one in DRAWN.get(name, [USUAL])]
            drawn = folder / "figures" / name
            if status_of(["plot", *given, "--figure", name, "-o", str(drawn), "--quiet"]) == FINE:
                file = sorted(drawn.glob("*.png"))[0].relative_to(folder)
                page.write(f"\n### {name}\n\n![{kind.meaning}]({file})\n")


def _linked(text: str) -> str:
    """Return a document with links as they are in the site."""
    text = re.sub(r"^<!-- .* -->\n", "", text, flags=re.MULTILINE)
    text = text.replace("](calcli/guide/", "](").replace("](.github/page.png)", "](page.png)")
    for name, target in BESIDE.items():
        text = re.sub(rf"\]\((?:\.\./\.\./)?{re.escape(name)}", f"]({target}", text)
    return text


if __name__ == "__main__":
    target = Path(sys.argv[1])
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    gather(target)
