"""What is said about a file that the sandbox does not have.

An agent wrote `pd.read_csv("sales.csv")` for a file of the user and got a bare FileNotFoundError.
"""

from __future__ import annotations

import errno
import linecache
import os
import tempfile
from pathlib import Path
from types import SimpleNamespace

from fake_host import FILES, READ_FILE_SPEC, ApiTestCase

UNSEEN = "The sandbox does not see the user's files. "


def missing(path: object, **_: object) -> None:
    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)


class MissingFiles(ApiTestCase):
    def setUp(self) -> None:
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)
        self.folder = os.getcwd()
        media = {**READ_FILE_SPEC, "alias": "read_media_file", "parameters": READ_FILE_SPEC["parameters"]}
        listing = {**media, "alias": "list_directory"}
        needs_more = {**media, "parameters": [{"name": n, "alias": n, "required": True} for n in ("repo", "path")]}
        self.host.tool_specs |= {
            "read_text_file": {**READ_FILE_SPEC, "alias": "read_text_file"},
            "read_media_file": media,
            "list_directory": listing,
            "get_file_contents": needs_more,
        }
        self.tools = ["read_multiple_files", "read_file", "read_text_file", "read_media_file", "list_directory"]
        self.host.answers["find_servers"] = lambda params: [
            {"server": "git-hub", "loaded": False, "matching_tools": ["get_file_contents"]},
            {"server": "files", "loaded": False, "matching_tools": self.tools},
        ]
        self.host.answers["list_tools"] = lambda params: [{"name": name, "alias": name} for name in self.tools]
        self.pd = SimpleNamespace(read_csv=missing, read_excel=missing)

    def hint(self, code: str) -> str | None:
        linecache.cache["<cell 3>"] = (len(code), None, code.splitlines(keepends=True), "<cell 3>")
        self.addCleanup(linecache.cache.pop, "<cell 3>", None)
        try:
            exec(compile(code, "<cell 3>", "exec"), {"pd": self.pd, "missing": missing})
        except OSError as error:
            return self.api.hint_for_file(error)
        raise AssertionError("the code raised nothing")

    def test_the_line_to_write_is_named(self) -> None:
        read = "text = await mcp_files.read_text_file(path='/data/x.csv')"
        for code, line in {
            "pd.read_csv('/data/x.csv')": f"{read}; pd.read_csv(io.StringIO(text))",
            "d = pd.read_csv('/data/x.csv')['a']": f"{read}; pd.read_csv(io.StringIO(text))",
            "import json\njson.load(open('/data/x.csv'))": f"{read}; json.load(io.StringIO(text))",
            "open('/data/x.csv').read()": read,
            "with open('/data/x.csv') as file:\n    pass": read,
            "from pathlib import Path\nPath('/data/x.csv').read_text()": read,
            "from pathlib import Path\np = Path('/data/x.csv')\np.read_bytes()": read,
            "pd.read_excel('/data/x.xlsx')":
                "data = (await mcp_files.read_media_file(path='/data/x.xlsx')).data; pd.read_excel(io.BytesIO(data))",
            "open('/data/x.pdf', 'rb')": "data = (await mcp_files.read_media_file(path='/data/x.pdf')).data",
            "import os\nos.listdir('/data/no-such')": "print(await mcp_files.list_directory(path='/data/no-such'))",
        }.items():  # fmt: skip
            self.assertEqual(self.hint(code), f"{UNSEEN}Write: {line}", code)

    def test_a_relative_path_is_one_of_the_working_folder(self) -> None:
        line = "text = await mcp_files.read_text_file(path='sales.csv')"
        self.assertEqual(
            self.hint("open('sales.csv')"), f"'sales.csv' means {self.folder}/sales.csv. {UNSEEN}Write: {line}"
        )
        self.assertEqual(self.hint(f"open('{self.folder}/sales.csv')"), f"{UNSEEN}Write: {line}")

    def test_a_server_that_is_not_loaded_is_named_with_how_to_load_it(self) -> None:
        self.api.update([], [FILES])
        line = "text = await mcp_files.read_text_file(path='/data/x.csv')   # with servers=['files']"
        self.assertEqual(self.hint("open('/data/x.csv')"), f"{UNSEEN}Write: {line}")

    def test_without_a_server_that_can_the_user_is_asked(self) -> None:
        self.tools = ["write_file", "read_graph"]
        self.assertRegex(self.hint("open('/data/x.csv')") or "", "reads them: await .*\\('read text file'\\) .*MOUNTS")
        self.api.update([], [])
        before = len(self.host.asked)
        self.assertRegex(self.hint("open('/data/x.csv')") or "", "No known tool reads them: the user can add")
        self.assertEqual(len(self.host.asked), before)

    def test_what_the_sandbox_has_comes_first(self) -> None:
        Path("sales_2026.csv").write_text("")
        near = f"{self.folder} has no 'sales_2025.csv'. Did you mean 'sales_2026.csv'?"
        self.assertEqual(self.hint("open('sales_2025.csv')"), near)
        self.assertEqual(
            self.hint("open('/data/sales_2026.csv')"), f"It is in {self.folder}: '{self.folder}/sales_2026.csv'."
        )
        os.mkdir("mounted")
        for name in "ab":
            Path("mounted", f"{name}.parquet").write_text("")
        self.assertEqual(self.hint("open('mounted/2020.csv')"), f"{self.folder}/mounted has 'a.parquet', 'b.parquet'.")
        self.assertEqual(self.host.asked, [])

    def test_a_file_that_cannot_be_written_gets_another_hint(self) -> None:
        said = f"The sandbox has no folder /data: write to {self.folder}, or for the user with runtime.save_artifact"
        for code in ("open('/data/x.csv', 'w')", "from pathlib import Path\nPath('/data/x.csv').write_text('')"):
            self.assertTrue((self.hint(code) or "").startswith(said), code)
        makes = f"The sandbox has no folder {self.folder}/out: os.makedirs('{self.folder}/out') makes it."
        self.assertEqual(self.hint("open('out/x.csv', mode='wb')"), makes)

    def test_libraries_that_name_the_file_in_their_text_only_are_understood(self) -> None:
        for text in ("/data/x.csv not found.", "File /data/x.csv does not exist",
                     "No such file or directory (os error 2): /data/x.csv",
                     "[Errno 2] Failed to open local file '/data/x.csv'"):  # fmt: skip
            said = self.hint(f"raise FileNotFoundError({text!r})") or ""
            self.assertIn("read_text_file(path='/data/x.csv')", said, text)

    def test_text_in_place_of_a_path_is_recognized(self) -> None:
        said = "It takes a path or a file; for text, pass io.StringIO(text)."
        for code in ("pd.read_csv('a,b\\n1,2')", "pd.read_csv('a,b\\n' * 9)", "open('a;b\\n' * 9_999)",
                     """raise FileNotFoundError('File {"a": [1, 2]} does not exist')""",
                     "raise FileNotFoundError('File [' + '1,' * 99_999 + '1] does not exist')"):  # fmt: skip
            self.assertEqual(self.hint(code), said, code)

    def test_a_working_folder_that_is_gone_and_long_texts_do_no_harm(self) -> None:
        self.assertIsNone(self.hint("raise FileNotFoundError('x' * 9_999_999)"))
        os.mkdir("gone")
        os.chdir("gone")
        os.rmdir("../gone")
        self.assertIsNone(self.hint("open('x.csv')"))

    def test_programs_files_of_the_system_and_what_is_there_get_no_hint(self) -> None:
        Path("here.csv").write_text("")
        for code in ("import subprocess\nsubprocess.run(['no-such-program'])", "open('/etc/no-such.conf')", "open('/')",
                     "missing('here.csv')", "open('/x/site-packages/p/data.csv')",
                     "raise FileNotFoundError", "raise FileNotFoundError(7)"):  # fmt: skip
            self.assertIsNone(self.hint(code), code)
        self.assertEqual(self.host.asked, [])
