"""Where parts come from: Python packages are pinned by hash, the page of licences and the bill of materials name all of them."""
import argparse
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import licences_page
import parts
import sbom

_parser = argparse.ArgumentParser()
_parser.add_argument("--program", type=Path, default=parts.ROOT / "build" / "linkcast")
_options, _rest = _parser.parse_known_args()


class Locks(unittest.TestCase):
    def test_each_pin_has_a_version_and_hashes(self):
        self.assertEqual({lock.stem for lock in parts.locks()}, set(parts.LOCK_ROLES))
        for lock in parts.locks():
            pinned = parts.locked(lock)
            self.assertTrue(pinned, lock.name)
            for part in pinned:
                self.assertTrue(part.hashes, f"{lock.name}: {part.name}")
            plain = re.sub(r"--hash=sha256:[0-9a-f]{64}|[A-Za-z0-9._-]+==\S+|[\\\s]", "", lock.read_text(encoding="utf-8"))
            self.assertEqual(plain, "", f"{lock.name} holds more than pins and hashes")

    def test_what_is_wanted_is_locked(self):
        for lock in parts.locks():
            wanted = re.findall(r"^[A-Za-z][A-Za-z0-9._-]*", lock.with_suffix(".in").read_text(encoding="utf-8"), re.M)
            self.assertTrue(wanted)
            self.assertLessEqual(set(wanted), {part.name for part in parts.locked(lock)}, lock.name)

    def test_the_wheel_needs_what_the_lock_of_the_build_has(self):
        needed = re.search(r"^requires = \[(.*)\]", (parts.ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.M)[1]
        locked = {part.name for part in parts.locked(parts.ROOT / ".ci" / "python" / "build.lock")}
        self.assertLessEqual(set(re.findall(r'"([A-Za-z0-9._-]+)', needed)), locked)

    def test_nothing_is_fetched_without_hashes(self):
        for script in (parts.ROOT / ".ci").iterdir():
            if script.is_file() and script.name != "lock":  # which makes the locks
                for line in script.read_text(encoding="utf-8").splitlines():
                    if "pip install" in line:
                        self.assertIn("--require-hashes", line, script.name)

    def test_a_wrong_lock_is_told(self):
        with tempfile.TemporaryDirectory() as folder:
            lock = Path(folder) / "dask.lock"
            lock.write_text("dask==1.0\nzict==3.0.0 \\\n    --hash=sha256:" + "0" * 64 + "\n")
            self.assertEqual([bool(part.hashes) for part in parts.locked(lock)], [False, True])


class Licences(unittest.TestCase):
    def test_the_page_lists_what_is_installed(self):
        self.assertEqual(licences_page.findings(), [])

    def test_a_part_that_is_missing_is_told(self):
        page = licences_page.PAGE
        with tempfile.TemporaryDirectory() as folder:
            licences_page.PAGE = Path(folder) / page.name
            try:
                text = page.read_text(encoding="utf-8")
                licences_page.PAGE.write_text(text.replace("| `pyarrow` |", "| `pyarrov` |"), encoding="utf-8")
                self.assertEqual(len(licences_page.findings()), 2)
            finally:
                licences_page.PAGE = page


class Bill(unittest.TestCase):
    def test_all_parts_are_in_it_once_with_version_and_licence(self):
        bill = sbom.sbom(_options.program.resolve())
        names = [(one["name"], one["version"]) for one in bill["components"]]
        self.assertEqual(len(names), len(set(names)))
        installed = {part.name for part in parts.debian_parts() if part.version}
        locked = {part.name for part in parts.python_parts()}
        loaded = set(parts.libraries_of(_options.program.resolve()))
        self.assertLessEqual(installed | locked | loaded, {name for name, _ in names})
        self.assertTrue(any(name.startswith("libsimgrid") for name in loaded), loaded)
        for one in bill["components"]:
            self.assertTrue(one["version"], one["name"])
            if one["name"] in installed | locked:
                self.assertTrue(one.get("licenses"), one["name"])
        needed = {ref for entry in bill["dependencies"] for ref in entry["dependsOn"]}
        self.assertLessEqual(needed, {one["bom-ref"] for one in bill["components"]})
        self.assertTrue(needed)


@unittest.skipUnless(shutil.which("ssh-keygen"), "ssh-keygen is not installed")
class Signed(unittest.TestCase):
    """.ci/release: a changed file, list of checksums or key is refused."""

    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder, self.files = Path(holder.name), Path(holder.name) / "release"
        self.files.mkdir()
        (self.files / "linkcast-1.whl").write_bytes(b"wheel")
        for name in ("own", "other"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(self.folder / name)], check=True)
            key = " ".join((self.folder / f"{name}.pub").read_text().split()[:2])
            (self.folder / f"{name}.signers").write_text(f"linkcast {key}\n")
        self.assertEqual(self.release("sums", "own"), 0)

    def release(self, what: str, name: str) -> int:
        return subprocess.run(["bash", str(parts.ROOT / ".ci/release"), what, str(self.files), str(self.folder / name)], capture_output=True,
                              check=False).returncode

    def test_what_was_signed_is_verified(self):
        self.assertEqual(self.release("verify", "own.signers"), 0)

    def test_another_key_is_refused(self):
        self.assertNotEqual(self.release("verify", "other.signers"), 0)

    def test_a_changed_file_is_refused(self):
        (self.files / "linkcast-1.whl").write_bytes(b"weel")
        self.assertNotEqual(self.release("verify", "own.signers"), 0)

    def test_an_added_file_is_refused(self):
        (self.files / "linkcast-2.deb").write_bytes(b"of somebody else")
        self.assertNotEqual(self.release("verify", "own.signers"), 0)

    def test_no_file_is_nothing_to_sign(self):
        for path in self.files.iterdir():
            path.unlink()
        self.assertEqual(self.release("sums", "own"), 2)
        self.assertEqual(list(self.files.iterdir()), [])

    def test_a_changed_list_is_refused(self):
        sums = self.files / "SHA256SUMS"
        sums.write_text(sums.read_text().replace("linkcast-1", "linkcast-2"))
        (self.files / "linkcast-1.whl").rename(self.files / "linkcast-2.whl")
        self.assertNotEqual(self.release("verify", "own.signers"), 0)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *_rest])
