/**
 * The folders of `src/` and what each may import. `test/contract/imports.test.ts` checks the sources against it, and the table in
 * docs/internals/architecture.md is generated from it.
 */

/** The tiers of `src/`. Each imports only itself and those before it. */
export const TIERS = {
  core: 'what the product is: sessions, the calls from them, and what is known of tools',
  edges: 'what it touches: engines, servers, files of clients, settings, the terminal',
  front: 'who speaks to it: clients over stdio and HTTP, and how they prove who they are',
  record: 'what is seen of it: the log, recordings, telemetry, the page',
  features: 'what is plugged into calls and sessions',
  app: 'what puts it together: the builder and the commands',
} as const;
type Tier = keyof typeof TIERS;
const TIER_ORDER = Object.keys(TIERS);

export interface Layer {
  readonly tier: Tier;
  readonly folder: string;
  readonly holds: string;
  /** The core, in this sense, knows no feature; only the composition knows both. */
  readonly kind: 'core' | 'feature' | 'composition';
  /** Folders or files that it may import besides itself. The composition may also import the index of every feature. */
  readonly mayImport: readonly string[];
  /** Whether it only transforms data, without any I/O. */
  readonly isPure?: boolean;
}

const CORE: readonly Layer[] = [
  {
    tier: 'core',
    folder: 'base',
    holds: 'shared basics: errors, limits, log, processes, types of cells and servers',
    kind: 'core',
    mayImport: [],
  },
  {
    tier: 'core',
    folder: 'state',
    holds: 'files of the state directory: atomic writes, locks, line caches',
    kind: 'core',
    mayImport: ['base'],
  },
  { tier: 'core', folder: 'protocol', holds: 'frames and exact JSON', kind: 'core', mayImport: ['base'], isPure: true },
  {
    tier: 'core',
    folder: 'catalog',
    holds: 'names, signatures, documentation and search of tools',
    kind: 'core',
    mayImport: ['base', 'protocol'],
    isPure: true,
  },
  {
    tier: 'core',
    folder: 'render',
    holds: 'an answer as text, JSON or TOON',
    kind: 'core',
    mayImport: ['base'],
    isPure: true,
  },
  {
    tier: 'core',
    folder: 'session',
    holds: 'sessions, cells, calls from the sandbox, and the contract of engines',
    kind: 'core',
    mayImport: ['base', 'state', 'protocol'],
  },
  {
    tier: 'core',
    folder: 'directory',
    holds: 'what is known about each configured server and its tools',
    kind: 'core',
    mayImport: ['base', 'state', 'protocol', 'catalog'],
  },
  {
    tier: 'core',
    folder: 'calls',
    holds: 'calls from code to the host: the contract, the pipeline, one file per kind of call',
    kind: 'core',
    mayImport: ['base', 'protocol', 'catalog', 'render', 'session', 'directory'],
  },
  {
    tier: 'edges',
    folder: 'clients',
    holds: "other MCP clients' files: locations, formats, text edits",
    kind: 'core',
    mayImport: ['base'],
    isPure: true,
  },
  {
    tier: 'edges',
    folder: 'servers',
    holds: 'which servers are configured: files, references, problems',
    kind: 'core',
    mayImport: ['base', 'state', 'clients'],
  },
  {
    tier: 'edges',
    folder: 'engines',
    holds: 'podman, docker, bubblewrap, embedded',
    kind: 'core',
    mayImport: ['base', 'state', 'protocol', 'session/engine.ts'],
  },
  {
    tier: 'edges',
    folder: 'upstream',
    holds: 'running MCP servers: processes, HTTP, logins',
    kind: 'core',
    mayImport: ['base', 'state', 'protocol', 'catalog'],
  },
  {
    tier: 'edges',
    folder: 'egress-proxy',
    holds: 'the proxy that takes the requests which code in the sandbox makes itself, and its certificates',
    kind: 'core',
    mayImport: ['base', 'state'],
  },
  {
    tier: 'edges',
    folder: 'registries',
    holds: 'servers that are not configured yet: registries and catalogs of them',
    kind: 'core',
    mayImport: ['base', 'state', 'protocol', 'catalog', 'clients', 'upstream'],
  },
  {
    tier: 'edges',
    folder: 'settings',
    holds: 'the table of settings, the file that keeps some, and the parts for engines and servers',
    kind: 'core',
    mayImport: ['base', 'state', 'session/engine.ts', 'clients', 'servers', 'engines'],
  },
  {
    tier: 'edges',
    folder: 'configured',
    holds: 'the configured servers with their connections, and how to test them',
    kind: 'core',
    mayImport: ['base', 'state', 'protocol', 'catalog', 'directory', 'servers', 'upstream'],
  },
  {
    tier: 'edges',
    folder: 'terminal',
    holds: 'shared parts of commands: their contract, tables, progress, questions',
    kind: 'core',
    mayImport: [
      'base',
      'state',
      'protocol',
      'catalog',
      'render',
      'session',
      'directory',
      'calls',
      'clients',
      'servers',
      'upstream',
      'settings',
      'configured',
      'registries',
    ],
  },
  {
    tier: 'front',
    folder: 'server',
    holds: 'the MCP front: the tool, resources, transports',
    kind: 'core',
    mayImport: ['base', 'protocol', 'render', 'session'],
  },
  {
    tier: 'record',
    folder: 'history',
    holds: 'reading the audit log: its records and files, search, statistics',
    kind: 'core',
    mayImport: ['base', 'state', 'protocol'],
  },
  {
    tier: 'record',
    folder: 'local-api',
    holds: 'the local API of running bridges: its fields and events, and how programs find and ask it',
    kind: 'core',
    mayImport: ['base', 'state', 'protocol'],
  },
];

const EVERY_CORE = CORE.map(({ folder }) => folder);

function feature(tier: Tier, folder: string, holds: string): Layer {
  return { tier, folder, holds, kind: 'feature', mayImport: EVERY_CORE };
}

const FEATURES: readonly Layer[] = [
  feature('features', 'approvals', 'asking the user about calls'),
  feature('features', 'artifacts', 'files saved by code, and the resources that show them'),
  feature('record', 'audit', 'the record of cells and calls'),
  feature('record', 'chat-view', 'what clients that support MCP Apps show of a cell'),
  feature('app', 'config', 'showing and keeping settings'),
  feature('app', 'doctor', 'finding problems and fixing them'),
  feature('features', 'dry-run', 'stand-ins for calls that could change something'),
  feature('app', 'exec', 'running a cell from the shell'),
  feature('front', 'extra-tools', 'the optional tools beside `run_python`'),
  feature('features', 'egress', 'requests that code sends itself, as calls of tools'),
  feature('features', 'images', 'images for sandboxes'),
  feature('app', 'install', 'registering the bridge with clients'),
  feature('features', 'languages', 'programs in other languages, and stored snippets'),
  feature('record', 'live', 'what running bridges do now: a local API, and `top`'),
  feature('front', 'login-pages', 'pages on which users over HTTP log in at servers'),
  feature('app', 'manage-servers', 'the commands that show, change, test and call servers'),
  feature('front', 'oauth-tokens', 'tokens of an OAuth issuer, for HTTP'),
  feature('features', 'new-servers', 'finding servers that are not configured, and proposing them'),
  feature('features', 'packages', 'installing Python packages for running sessions'),
  feature('features', 'pins', 'accepted tool definitions'),
  feature('features', 'policy', 'rules and limits for calls; `rules/` is pure'),
  feature('features', 'prestart', 'servers started before the first cell'),
  feature('record', 'recordings', 'recording cells and calls, and replaying them'),
  feature('record', 'report', 'sums of the audit log: as text, JSON or a page'),
  feature('features', 'saved-tools', 'functions kept for later sessions'),
  feature('features', 'secrets', 'secrets of server entries: storing, fetching and masking'),
  feature('app', 'schedule', 'code that runs at set times, without a person'),
  feature('record', 'session-list', 'sandboxes of all bridges on this machine'),
  feature('record', 'telemetry', 'traces and metrics, for OpenTelemetry and Prometheus'),
  feature('front', 'tokens', 'tokens for HTTP, and whom they belong to'),
  feature('record', 'ui', 'a page in the browser that shows what agents do'),
  feature('features', 'waiting-questions', 'questions of scheduled runs, which wait until someone answers'),
];

export const LAYERS: readonly Layer[] = [
  ...CORE,
  ...FEATURES,
  {
    tier: 'app',
    folder: 'bridge',
    holds: 'builds the parts and plugs in the features',
    kind: 'composition',
    mayImport: EVERY_CORE,
  },
  {
    tier: 'app',
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

/** `session/session.ts` of `core/session/session.ts`: documents and tests name files without their tier. */
export function withoutTier(file: string): string {
  const [first = '', ...rest] = file.split('/');
  return Object.hasOwn(TIERS, first) ? rest.join('/') : file;
}

/** The other way round. */
export function withTier(file: string): string {
  const layer = LAYERS.find(({ folder }) => file.startsWith(`${folder}/`));
  return layer === undefined ? file : `${layer.tier}/${file}`;
}

/** Whether a file, such as `session/session.ts`, may import another one. Both are without their tier. */
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
  const [layer, imported] = [source, target].map((name) => LAYERS.find(({ folder }) => folder === name));
  const isLater = layer !== undefined && imported !== undefined && orderOf(imported) > orderOf(layer);
  if (layer === undefined || isLater) {
    return false;
  }
  const isFeature = FEATURES.some(({ folder }) => folder === target);
  const isPlugged = isFeature && layer.kind === 'composition' && to === `${target}/index.ts`;
  return isPlugged || isAmong(to, layer.mayImport) || (source === 'cli' && target === 'bridge');
}

function orderOf({ tier }: Layer): number {
  return TIER_ORDER.indexOf(tier);
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
  const sorted = LAYERS.toSorted((a, b) => orderOf(a) - orderOf(b));
  const rows = sorted.map(({ folder, holds, kind, isPure, mayImport: imports, tier }) => {
    const what =
      kind === 'feature'
        ? 'the core'
        : kind === 'composition'
          ? 'the core, and each feature by its `index.ts`'
          : imports.join(', ');
    return `| \`${tier}/${folder}/\` | ${holds}${isPure === true ? ' (no I/O)' : ''} | ${what || '–'} |`;
  });
  return ['| Folder of `src/` | Holds | May import |', '| --- | --- | --- |', ...rows].join('\n');
}
