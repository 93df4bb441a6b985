# FOLDER is an empty git repository.
import pathlib, re

repo = "FOLDER"
assert "No commits yet" in await mcp_git.git_status(repo_path=repo)
for number in range(3):
    (pathlib.Path(repo) / f"{number}.txt").write_text(f"line of {number}\n")
    assert "staged" in await mcp_git.git_add(repo_path=repo, files=[f"{number}.txt"])
    assert f"line of {number}" in await mcp_git.git_diff_staged(repo_path=repo)
    assert "hash" in await mcp_git.git_commit(repo_path=repo, message=f"Add {number}")
log = await mcp_git.git_log(repo_path=repo, max_count=2)
assert "Add 2" in log and "Add 0" not in log
head = re.search("[0-9a-f]{40}", log).group()
assert "line of 2" in await mcp_git.git_show(repo_path=repo, revision=head)
assert "Created branch" in await mcp_git.git_create_branch(repo_path=repo, branch_name="side")
assert "side" in await mcp_git.git_branch(repo_path=repo, branch_type="local")
assert "side" in await mcp_git.git_checkout(repo_path=repo, branch_name="side")
(pathlib.Path(repo) / "0.txt").write_text("another\n")
assert "+another" in await mcp_git.git_diff_unstaged(repo_path=repo)
assert "+another" in await mcp_git.git_diff(repo_path=repo, target="HEAD", context_lines=0)
assert await mcp_git.git_reset(repo_path=repo)
for wrong in ("--output=/tmp/x", "no-such-branch"):
    try:
        await mcp_git.git_checkout(repo_path=repo, branch_name=wrong)
        raise AssertionError(wrong)
    except ToolError:
        pass
