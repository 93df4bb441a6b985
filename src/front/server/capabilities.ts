/**
 * The manual of the sandbox, written for a model. `runtime.capability_summary()` returns `CAPABILITY_SUMMARY` and more; the MCP resource
 * adds a checklist for loading servers. Both go on with what the engine has and lacks, so these texts are true on all engines.
 */
import { COMMAND } from '../../core/base/package.ts';

export const CAPABILITY_RESOURCE_NAME = 'code-execution-capabilities';

export const CAPABILITY_SUMMARY = `# run_python: what the sandbox can do

**State persists.** Variables, imports, functions and files in /workspace stay until the session ends. Top-level \`await\` works. The value of the last expression is shown. Each \`session\` name has its own; \`runtime.reset()\` ends it after the cell. A cell that reaches its timeout is interrupted; variables survive. First line \`# timeout: 1h\`: more time.

**Discover first.** These work for every configured server, loaded or not:
- \`runtime.discovered_servers(detailed=True)\`: names and descriptions.
- \`await runtime.find_servers("issues")\`: servers for a task; \`find_new_servers\` asks a registry, \`propose_server\` the user.
- \`await runtime.search_tool_docs("create issue", limit=5)\`: tools by meaning. Each, as below, has \`server\`, \`tool\`, \`toolAlias\`, \`signature\`, \`description\`, \`loaded\`.
- \`await runtime.query_tool_docs("github", "create_issue", detail="full")\`: one tool with its input schema; without a tool, all.
- \`print(runtime.stubs("github", "create_issue list_issues"))\`: signatures and types of tools, by name or word, or all. \`runtime.help()\` lists every helper.

**Call tools.** Load servers with the \`servers\` argument of run_python; they stay loaded in the session.
\`\`\`python
issues = await mcp_github.list_issues(owner="o", repo="r")
for issue in issues:
    print(issue.number, issue.title)
\`\`\`
- The proxy is \`mcp_<alias>\`; \`mcp_servers["name"]\` takes the configured name; \`help(mcp_github.create_issue)\` shows the signature. In plain functions use \`mcp_github.create_issue.sync(...)\`.
- Also \`list_resources()\`, \`read_resource(uri)\`, \`list_prompts()\`, \`get_prompt(name, **args)\` of a server, and \`tool.with_options(timeout=…, on_progress=…)(…)\`.
- Results are plain Python values: dicts (\`issue.title\` and \`issue["title"]\`), lists, str. \`await runtime.call_tool(server, tool, arguments)\` calls by name.
- \`await asyncio.gather(...)\` runs calls in parallel.
- A tool that reports failure raises \`ToolError\`; any other failed call raises \`MCPError\`, its base class.

**Keep what is useful.** \`runtime.save_tool(func)\` stores a self-contained function; later sessions have it by name. \`runtime.save_artifact("report.csv", data)\` keeps a file; \`display(value)\` shows images, figures and documents.

**Bounds.** No network: only tools, and SDKs if the user allows. Write only in /workspace and /tmp, which are not executable. Long output is cut in the middle: print little.
`;

/** Appended to the manual if packages can be installed. `isPure` says that they must be pure Python. */
export function packagesSummary(isPure: boolean): string {
  const [which, example] = isPure ? ['Packages in pure Python', 'openpyxl'] : ['Packages', 'pandas'];
  return `
**${which} arrive when a cell imports them**, before it runs; variables stay. \`await runtime.install("${example}>=2")\`, \`%pip install ${example}\` or a script header (\`# /// script\`) choose a version. The user may be asked, and only wheels can be installed.
`;
}

/** Appended to the manual if `MCP_BRIDGE_AUTOLOAD` is on. */
export const AUTOLOAD_SUMMARY = `
**Servers load themselves here.** Code may call any configured server; the first call loads it, and the answer names it.
`;

const CHECKLIST = `## Loading servers: a checklist

1. Find the tool: \`await runtime.search_tool_docs("what it should do")\`, or list names with \`runtime.discovered_servers()\`.
2. Note \`server\` of the result and pass it: \`run_python(code=..., servers=["that server"])\`. Later cells of the session need not repeat it.
3. Read the signature once: \`await runtime.query_tool_docs(server, tool, detail="full")\`.
4. Call it with keyword arguments: \`await mcp_<alias>.<tool>(...)\`. The alias is the name in lower case, with \`_\` for every other character.
5. \`Server '<name>' is not available\` means that it is not loaded: go back to step 2.
6. Look at the shape of the first result before a loop: \`print(type(result), str(result)[:300])\`.
`;

const NOT_CHOSEN = `Not chosen yet: the first cell starts one. Then this text, and \`print(runtime.capability_summary())\`, name it and say what it has: packages, a shell, programs in other languages. A person can check all of them with: ${COMMAND} doctor`;

/** The manual, the checklist, and a description of the engine, which is undefined before the first cell. */
export function capabilityResource(engine: string | undefined): string {
  return `${CAPABILITY_SUMMARY}\n${CHECKLIST}\n## Engine\n\n${engine ?? NOT_CHOSEN}\n`;
}
