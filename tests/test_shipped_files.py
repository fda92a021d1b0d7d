"""Where the shipped files are."""

import tfsum
from tfsum.shipped_files import folder_of


def test_in_the_package_that_pip_installs_and_beside_that_of_a_checkout(tmp_path, monkeypatch):
    package = tmp_path.resolve() / "tfsum"
    monkeypatch.setattr(tfsum, "__file__", str(package / "__init__.py"))
    assert folder_of("recipes", "training") == package.parent / "training"
    (package / "recipes").mkdir(parents=True)
    assert folder_of("recipes", "training") == package / "recipes"
