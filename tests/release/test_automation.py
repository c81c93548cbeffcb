"""What other programs read of this repository has the form that they publish: `make dist`."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from calcli.guide import page_text

pytest.importorskip("check_jsonschema", reason="check-jsonschema is not installed: make dist")

ROOT = Path(__file__).resolve().parents[2]
FORMS = {
    "github-actions": ["action.yml"],
    "github-workflows": [".github/workflows/tests.yml", ".github/workflows/release.yml"],
    "github-issue-forms": [".github/ISSUE_TEMPLATE/file.yml", ".github/ISSUE_TEMPLATE/bug.yml"],
    "github-issue-config": [".github/ISSUE_TEMPLATE/config.yml"],
    "citation-file-format": ["CITATION.cff"],
}
BLOCKS = re.findall(r"```yaml\n(.*?)```", page_text("gates-and-ci"), re.DOTALL)


def check(form: str, *files: str | Path) -> None:
    command = [
        sys.executable,
        "-m",
        "check_jsonschema",
        "--builtin-schema",
        f"vendor.{form}",
        *map(str, files),
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("form", FORMS)
def test_files_for_others_have_their_form(form):
    check(form, *FORMS[form])


def test_the_workflow_of_the_guide_is_one(tmp_path):
    (found,) = (block for block in BLOCKS if block.startswith("jobs:"))
    (tmp_path / "workflow.yml").write_text(f"on: pull_request\n{found}")
    check("github-workflows", tmp_path / "workflow.yml")


def test_the_job_of_the_guide_for_gitlab_is_one(tmp_path):
    (found,) = (block for block in BLOCKS if "reports:" in block)
    (tmp_path / "gitlab.yml").write_text(found)
    check("gitlab-ci", tmp_path / "gitlab.yml")
