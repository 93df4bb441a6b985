/**
 * Servers from PyPI as people configure them, with `uvx` or `pipx run`. Versions are pinned, but not those of what they depend on: a
 * person's are not either. All run on Python 3.11.
 */

export interface PythonServer {
  /** `name==version`. */
  readonly spec: string;
  /** Its program, if it has another name than the package. */
  readonly program?: string;
  readonly runner?: 'uvx' | 'pipx';
  /** What it needs besides: servers written for version 1 of the SDK end at once with version 2, which they do not exclude. */
  readonly with?: string;
  /** Arguments of the program; `FOLDER` is replaced by a folder of its own. */
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Why its tools are only listed. The others have a cell in `calls/`. */
  readonly listOnly?: string;
}

const OLD_SDK = 'mcp<2';

export const PYTHON_SERVERS: Readonly<Record<string, PythonServer>> = {
  git: { spec: 'mcp-server-git==2026.10.19', args: ['--repository', 'FOLDER'] },
  time: { spec: 'mcp-server-time==2026.10.19', runner: 'pipx' },
  fetch: { spec: 'mcp-server-fetch==2026.10.24', listOnly: 'needs the internet' },
  sqlite: { spec: 'mcp-server-sqlite==2025.4.25', with: OLD_SDK, args: ['--db-path', 'FOLDER/sales.db'] },
  duckdb: { spec: 'mcp-server-duckdb==1.1.0', with: OLD_SDK, args: ['--db-path', 'FOLDER/data.duckdb'] },
  motherduck: { spec: 'mcp-server-motherduck==1.1.0', args: ['--db-path', ':memory:', '--read-write'] },
  alchemy: { spec: 'mcp-alchemy==2026.10.15.202659', env: { DB_URL: 'sqlite:///FOLDER/people.db' } },
  'fastmcp-sqlite': { spec: 'fastmcp-sqlite==1.0.0' },
  calculator: { spec: 'mcp-server-calculator==0.2.1' },
  markitdown: { spec: 'markitdown-mcp==0.0.1a8' },
  excel: { spec: 'excel-mcp-server==2.2.2', args: ['stdio'] },
  word: { spec: 'office-word-mcp-server==1.1.11', program: 'word_mcp_server', runner: 'pipx' },
  powerpoint: { spec: 'office-powerpoint-mcp-server==2.0.7', program: 'ppt_mcp_server', with: OLD_SDK },
  chroma: { spec: 'chroma-mcp==0.2.6', with: 'pydantic<2.12' },
  jupyter: {
    spec: 'jupyter-mcp-server==2.2.4',
    env: { START_NEW_CODE_SANDBOX: 'false', START_NEW_RUNTIME: 'false' },
    listOnly: 'needs a Jupyter server',
  },
  redis: { spec: 'redis-mcp-server==0.5.1', listOnly: 'needs Redis' },
  pandoc: { spec: 'mcp-pandoc==0.11.1', listOnly: 'needs pandoc' },
  wikipedia: { spec: 'wikipedia-mcp==2.0.1', listOnly: 'needs the internet' },
  arxiv: { spec: 'arxiv-mcp-server==0.8.2', listOnly: 'needs the internet' },
  duckduckgo: { spec: 'duckduckgo-mcp-server==0.7.0', listOnly: 'needs the internet' },
};

/** The words after the runner. */
export function runnerCommand({ spec, program, runner = 'uvx', with: extra, args = [] }: PythonServer): {
  readonly command: string;
  readonly args: readonly string[];
} {
  const more = extra === undefined ? [] : ['--with', extra];
  const [name = ''] = spec.split('==');
  const how = runner === 'uvx' ? [...more, '--from', spec] : ['run', ...more, '--spec', spec];
  return { command: runner, args: [...how, program ?? name, ...args] };
}
