/**
 * The folders of `src/` and what each may import. `test/contract/imports.test.ts` checks the sources against it, and the table in
 * docs/internals/architecture.md is generated from it.
 */
export interface Layer {
  readonly folder: string;
  readonly holds: string;
  /** The core knows no feature; only the composition knows both. */
  readonly kind: 'core' | 'feature' | 'composition';
  /** Folders or files that it may import besides itself. The composition may also import the index of every feature. */
  readonly mayImport: readonly string[];
  /** Whether it only transforms data, without any I/O. */
  readonly isPure?: boolean;
}

const CORE: readonly Layer[] = [
  {
    folder: 'base',
    holds: 'shared basics: errors, limits, log, processes, types of cells and servers',
    kind: 'core',
    mayImport: [],
  },
  {
    folder: 'state',
    holds: 'files of the state directory: atomic writes, locks, line caches',
    kind: 'core',
    mayImport: ['base'],
  },
  {
    folder: 'clients',
    holds: "other MCP clients' files: locations, formats, text edits",
    kind: 'core',
    mayImport: ['base'],
    isPure: true,
  },
  {
    folder: 'servers',
    holds: 'which servers are configured: files, references, problems',
    kind: 'core',
    mayImport: ['base', 'state', 'clients'],
  },
  {
    folder: 'engines',
    holds: 'podman, docker, bubblewrap, embedded: one contract, `engine.ts`',
    kind: 'core',
    mayImport: ['base', 'state'],
  },
  {
    folder: 'settings',
    holds: 'the table of settings, the file that keeps some, and the parts for engines and servers',
    kind: 'core',
    mayImport: ['base', 'state', 'clients', 'servers', 'engines'],
  },
  { folder: 'protocol', holds: 'frames and exact JSON', kind: 'core', mayImport: ['base'], isPure: true },
  {
    folder: 'history',
    holds: 'reading the audit log: its records and files, search, statistics',
    kind: 'core',
    mayImport: ['base', 'state', 'protocol'],
  },
  {
    folder: 'local-api',
    holds: 'the local API of running bridges: its fields and events, and how programs find and ask it',
    kind: 'core',
    mayImport: ['base', 'state', 'protocol'],
  },
  {
    folder: 'catalog',
    holds: 'names, signatures, documentation and search of tools',
    kind: 'core',
    mayImport: ['base', 'protocol'],
    isPure: true,
  },
  { folder: 'render', holds: 'an answer as text, JSON or TOON', kind: 'core', mayImport: ['base'], isPure: true },
  {
    folder: 'session',
    holds: 'sessions, cells, and calls from the sandbox',
    kind: 'core',
    mayImport: ['base', 'state', 'protocol', 'engines/engine.ts'],
  },
  {
    folder: 'server',
    holds: 'the MCP front: the tool, resources, transports',
    kind: 'core',
    mayImport: ['base', 'protocol', 'render', 'session'],
  },
  {
    folder: 'upstream',
    holds: 'running MCP servers: processes, HTTP, logins',
    kind: 'core',
    mayImport: ['base', 'state', 'protocol'],
  },
  {
    folder: 'directory',
    holds: 'what is known about each configured server and its tools',
    kind: 'core',
    mayImport: ['base', 'state', 'servers', 'settings', 'protocol', 'catalog', 'upstream'],
  },
  {
    folder: 'calls',
    holds: 'calls from code to the host: the contract, the pipeline, one file per kind of call',
    kind: 'core',
    mayImport: ['base', 'protocol', 'catalog', 'render', 'session', 'upstream', 'directory'],
  },
  {
    folder: 'terminal',
    holds: 'shared parts of commands: their contract, tables, progress, questions',
    kind: 'core',
    mayImport: [
      'base',
      'state',
      'clients',
      'servers',
      'settings',
      'protocol',
      'catalog',
      'render',
      'session',
      'server',
      'upstream',
      'directory',
      'calls',
    ],
  },
];

const EVERY_CORE = CORE.map(({ folder }) => folder);

function feature(folder: string, holds: string): Layer {
  return { folder, holds, kind: 'feature', mayImport: EVERY_CORE };
}

const FEATURES: readonly Layer[] = [
  feature('approvals', 'asking the user about calls'),
  feature('artifacts', 'files saved by code, and the resources that show them'),
  feature('audit', 'the record of cells and calls'),
  feature('chat-view', 'what clients that support MCP Apps show of a cell'),
  feature('config', 'showing and keeping settings'),
  feature('doctor', 'finding problems and fixing them'),
  feature('dry-run', 'stand-ins for calls that could change something'),
  feature('exec', 'running a cell from the shell'),
  feature('extra-tools', 'the optional tools beside `run_python`'),
  feature('images', 'images for sandboxes'),
  feature('install', 'registering the bridge with clients'),
  feature('languages', 'programs in other languages, and stored snippets'),
  feature('live', 'what running bridges do now: a local API, and `top`'),
  feature('login-pages', 'pages on which users over HTTP log in at servers'),
  feature('manage-servers', 'the commands that show, change, test and call servers'),
  feature('oauth-tokens', 'tokens of an OAuth issuer, for HTTP'),
  feature('packages', 'installing Python packages for running sessions'),
  feature('pins', 'accepted tool definitions'),
  feature('policy', 'rules and limits for calls; `rules/` is pure'),
  feature('prestart', 'servers started before the first cell'),
  feature('recordings', 'recording cells and calls, and replaying them'),
  feature('report', 'sums of the audit log: as text, JSON or a page'),
  feature('saved-tools', 'functions kept for later sessions'),
  feature('secrets', 'secrets of server entries: storing, fetching and masking'),
  feature('session-list', 'sandboxes of all bridges on this machine'),
  feature('telemetry', 'traces and metrics, for OpenTelemetry and Prometheus'),
  feature('tokens', 'tokens for HTTP, and whom they belong to'),
  feature('ui', 'a page in the browser that shows what agents do'),
];

export const LAYERS: readonly Layer[] = [
  ...CORE,
  ...FEATURES,
  { folder: 'bridge', holds: 'builds the parts and plugs in the features', kind: 'composition', mayImport: EVERY_CORE },
  {
    folder: 'cli',
    holds: 'the command line: every command, help, completion',
    kind: 'composition',
    mayImport: EVERY_CORE,
  },
];

/** Parts of a folder with import rules of their own. */
export const EXCEPTIONS: readonly {
  readonly part: string;
  readonly mayImport: readonly string[];
  readonly isPure?: boolean;
}[] = [
  // A separate program with its own bundle; it reports in frames of the protocol.
  { part: 'engines/embedded/child', mayImport: ['base', 'protocol'] },
  // Runs in browsers; of the schemas it imports only types.
  { part: 'ui/page', mayImport: ['catalog/visible.ts', 'ui/schema.ts'] },
  { part: 'policy/rules', mayImport: ['base', 'catalog', 'calls/contract.ts'], isPure: true },
];

/** What `cli.ts` and `main.ts` may import. */
export const ENTRY_IMPORTS: readonly string[] = ['base', 'terminal', 'bridge', 'cli'];

/** Whether a file of `src/`, such as `session/session.ts`, may import another one. */
export function mayImport(from: string, to: string): boolean {
  const [source = '', target = ''] = [from, to].map((path) => path.split('/')[0] ?? '');
  if (from === 'cli.ts' || from === 'main.ts') {
    return to === 'main.ts' || isAmong(to, ENTRY_IMPORTS);
  }
  const part = EXCEPTIONS.find((one) => from.startsWith(`${one.part}/`));
  if (part !== undefined) {
    return to.startsWith(`${part.part}/`) || isAmong(to, part.mayImport);
  }
  if (source === target) {
    return true;
  }
  const layer = LAYERS.find(({ folder }) => folder === source);
  if (layer === undefined) {
    return false;
  }
  const isFeature = FEATURES.some(({ folder }) => folder === target);
  const isPlugged = isFeature && layer.kind === 'composition' && to === `${target}/index.ts`;
  return isPlugged || isAmong(to, layer.mayImport) || (source === 'cli' && target === 'bridge');
}

function isAmong(path: string, allowed: readonly string[]): boolean {
  return allowed.some((one) => path === one || path.startsWith(`${one}/`));
}

const IO_MODULE =
  /^node:(?:child_process|cluster|dgram|dns|fs|http|https|http2|net|os|process|readline|stream|tls|worker_threads)(?:\/|$)/;

/** Whether a file of `src/` may import a package or a module of Node, such as `node:fs/promises`. */
export function mayImportPackage(from: string, name: string): boolean {
  const owner =
    EXCEPTIONS.find(({ part }) => from.startsWith(`${part}/`)) ??
    LAYERS.find(({ folder }) => from.startsWith(`${folder}/`));
  if (owner?.isPure === true && IO_MODULE.test(name)) {
    return false;
  }
  // Few folders use the SDK, so its next version affects only those.
  if (isAmong(name, ['@modelcontextprotocol/client'])) {
    return from.startsWith('upstream/');
  }
  return !isAmong(name, ['@modelcontextprotocol/server']) || /^(?:server|artifacts)\//.test(from);
}

/** The table of folders in docs/internals/architecture.md. */
export function renderLayerTable(): string {
  const rows = LAYERS.map(({ folder, holds, kind, isPure, mayImport: imports }) => {
    const what =
      kind === 'feature'
        ? 'the core'
        : kind === 'composition'
          ? 'the core, and each feature by its `index.ts`'
          : imports.join(', ');
    return `| \`${folder}/\` | ${holds}${isPure === true ? ' (no I/O)' : ''} | ${what || '–'} |`;
  });
  return ['| Folder of `src/` | Holds | May import |', '| --- | --- | --- |', ...rows].join('\n');
}
