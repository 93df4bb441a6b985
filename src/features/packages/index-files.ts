/**
 * The configuration files of pip and uv on this machine, as the variables that mean the same. Sources: "Configuration Files" in
 * pip's documentation, and "Configuration files" in uv's.
 */
import { posix, win32 } from 'node:path';
import { z } from 'zod';
import { homeFolder } from '../../core/base/home.ts';
import { readBounded } from '../../core/state/state-files.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** Options of pip that matter here, with their variables. */
const PIP_OPTIONS: ReadonlyMap<string, string> = new Map([
  ['index-url', 'PIP_INDEX_URL'],
  ['extra-index-url', 'PIP_EXTRA_INDEX_URL'],
  ['find-links', 'PIP_FIND_LINKS'],
  ['no-index', 'PIP_NO_INDEX'],
  ['trusted-host', 'PIP_TRUSTED_HOST'],
  ['cert', 'PIP_CERT'],
  ['proxy', 'PIP_PROXY'],
]);
/** pip reads the section of its command after the global one. */
const PIP_SECTIONS = ['global', 'install'];
const MAX_FILE_BYTES = 1024 * 1024;
/** A variable of ours, for `ignore-error-codes` of uv's indexes: words such as `403=https://a.example/simple`. */
export const IGNORED_CODES = 'UV_INDEX_IGNORED_CODES';

const UvIndex = z.object({
  name: z.string().optional(),
  url: z.string(),
  default: z.boolean().optional(),
  /** Only for the packages that a project names. */
  explicit: z.boolean().optional(),
  /** `flat` is a page of links. */
  format: z.string().optional(),
  'ignore-error-codes': z.array(z.number().int()).optional(),
});
const UvFile = z.object({
  index: z.array(UvIndex).optional(),
  'index-url': z.string().optional(),
  'extra-index-url': z.array(z.string()).optional(),
  'find-links': z.array(z.string()).optional(),
  'no-index': z.boolean().optional(),
  'allow-insecure-host': z.array(z.string()).optional(),
});

/** The variables that the files stand for; those of the environment itself take precedence. Files that are not valid are left out. */
export async function variablesOfFiles(
  env: Environment,
  platform: NodeJS.Platform = process.platform,
): Promise<Environment> {
  const ofPip = pipFiles(env, platform).map(async (path) => variablesOfPip(await readText(path)));
  const ofUv = uvFiles(env, platform).map(async (path) => variablesOfUv(await readText(path)));
  return Object.assign({}, ...(await Promise.all([...ofPip, ...ofUv]))) as Environment;
}

/** The files that pip reads, the one that counts most at the end. */
function pipFiles(env: Environment, platform: NodeJS.Platform): string[] {
  const own = env['PIP_CONFIG_FILE'] ?? '';
  if (own === '/dev/null' || own.toLowerCase() === 'nul') {
    return [];
  }
  const last = own === '' ? [] : [own];
  const home = homeFolder(env, platform);
  if (platform === 'win32') {
    const { join } = win32;
    const shared = join(env['ProgramData'] ?? 'C:\\ProgramData', 'pip', 'pip.ini');
    return [shared, join(home, 'pip', 'pip.ini'), join(appData(env, home), 'pip', 'pip.ini'), ...last];
  }
  const { join } = posix;
  const ofMac = platform === 'darwin' ? [join(home, 'Library', 'Application Support', 'pip', 'pip.conf')] : [];
  const ofUser = [join(home, '.pip', 'pip.conf'), join(configHome(env, home), 'pip', 'pip.conf')];
  return ['/etc/xdg/pip/pip.conf', '/etc/pip.conf', ...ofUser, ...ofMac, ...last];
}

function uvFiles(env: Environment, platform: NodeJS.Platform): string[] {
  if (env['UV_NO_CONFIG'] !== undefined && env['UV_NO_CONFIG'] !== '') {
    return [];
  }
  const home = homeFolder(env, platform);
  const own = env['UV_CONFIG_FILE'] ?? '';
  if (own !== '') {
    return [own];
  }
  return platform === 'win32'
    ? [win32.join(appData(env, home), 'uv', 'uv.toml')]
    : ['/etc/uv/uv.toml', posix.join(configHome(env, home), 'uv', 'uv.toml')];
}

function appData(env: Environment, home: string): string {
  return env['APPDATA'] ?? win32.join(home, 'AppData', 'Roaming');
}

function configHome(env: Environment, home: string): string {
  return env['XDG_CONFIG_HOME'] || posix.join(home, '.config');
}

/** Empty if there is no such file. */
async function readText(path: string): Promise<string> {
  return (await readBounded(path, MAX_FILE_BYTES).catch(() => Buffer.alloc(0))).toString('utf8');
}

/** The format is that of Python's configparser: `key = value` or `key: value`, where indented lines continue a value. */
function variablesOfPip(text: string): Record<string, string> {
  const found = new Map<string, string>();
  let section = '';
  let key: string | undefined;
  for (const line of text.split(/\r?\n/)) {
    const heading = /^\[([^\]]+)\]/.exec(line);
    const option = /^([A-Za-z_-]+)\s*[=:]\s*(.*)$/.exec(line);
    if (/^\s*[#;]/.test(line)) {
      continue;
    }
    if (heading !== null) {
      section = heading[1] ?? '';
      key = undefined;
    } else if (option !== null) {
      key = `${section}.${option[1]?.toLowerCase().replaceAll('_', '-') ?? ''}`;
      found.set(key, option[2]?.trim() ?? '');
    } else if (key !== undefined && /^\s+\S/.test(line)) {
      found.set(key, `${found.get(key) ?? ''} ${line.trim()}`.trim());
    }
  }
  const entries = PIP_SECTIONS.flatMap((name) =>
    [...PIP_OPTIONS].map(([option, variable]) => [variable, found.get(`${name}.${option}`)] as const),
  );
  return Object.fromEntries(entries.filter((entry): entry is [string, string] => (entry[1] ?? '') !== ''));
}

async function variablesOfUv(text: string): Promise<Record<string, string>> {
  if (text === '') {
    return {};
  }
  // Loaded here, because few have such a file.
  const { getStaticTOMLValue, parseTOML } = await import('toml-eslint-parser');
  try {
    const { index: listed = [], ...file } = UvFile.parse(getStaticTOMLValue(parseTOML(text)));
    const named = ({ name, url }: z.infer<typeof UvIndex>) => (name === undefined ? url : `${name}=${url}`);
    const flat = listed.filter(({ format }) => format === 'flat');
    const index = listed.filter((one) => one.explicit !== true && !flat.includes(one));
    const main = index.filter((one) => one.default === true).map(named)[0] ?? file['index-url'];
    const others = index.filter((one) => one.default !== true).map(named);
    const ignored = index.flatMap(({ 'ignore-error-codes': codes = [], url }) => codes.map((code) => `${code}=${url}`));
    const found = {
      [IGNORED_CODES]: ignored.join(' '),
      UV_DEFAULT_INDEX: main ?? '',
      UV_INDEX: [...others, ...(file['extra-index-url'] ?? [])].join(' '),
      UV_FIND_LINKS: [...flat.map(({ url }) => url), ...(file['find-links'] ?? [])].join(' '),
      UV_NO_INDEX: file['no-index'] === true ? '1' : '',
      UV_INSECURE_HOST: (file['allow-insecure-host'] ?? []).join(' '),
    };
    return Object.fromEntries(Object.entries(found).filter(([, value]) => value !== ''));
  } catch {
    return {};
  }
}
