/** `node:path` for the paths of the sandbox, and where relative paths start. */

export const WORKSPACE = '/workspace';

/** Without `.`, `..` and double slashes. */
function normalize(path: string): string {
  const isAbsolute = path.startsWith('/');
  const parts: string[] = [];
  for (const part of path.split('/')) {
    if (part === '..' && parts.length > 0 && parts.at(-1) !== '..') {
      parts.pop();
    } else if (part === '..' ? !isAbsolute : part !== '' && part !== '.') {
      parts.push(part);
    }
  }
  const joined = parts.join('/');
  const slash = path.endsWith('/') && joined !== '' ? '/' : '';
  return isAbsolute ? `/${joined}${slash}` : joined + slash || '.';
}

function join(...paths: string[]): string {
  return normalize(paths.filter((path) => path !== '').join('/') || '.');
}

/** As Node does: the last absolute path counts, and what follows it. */
function resolve(...paths: string[]): string {
  const start = paths.findLastIndex((path) => path.startsWith('/'));
  const used = start < 0 ? [WORKSPACE, ...paths] : paths.slice(start);
  const path = normalize(used.filter((part) => part !== '').join('/'));
  return path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path;
}

function dirname(path: string): string {
  const trimmed = path.replace(/(?<=.)\/+$/, '');
  const at = trimmed.lastIndexOf('/');
  return at < 0 ? '.' : at === 0 ? '/' : trimmed.slice(0, at);
}

function basename(path: string, suffix = ''): string {
  const name = path.replace(/\/+$/, '').split('/').at(-1) ?? '';
  return suffix !== '' && name !== suffix && name.endsWith(suffix) ? name.slice(0, -suffix.length) : name;
}

function extname(path: string): string {
  const name = basename(path);
  const at = name.lastIndexOf('.');
  return at <= 0 ? '' : name.slice(at);
}

function relative(from: string, to: string): string {
  const left = resolve(from).split('/').filter(Boolean);
  const right = resolve(to).split('/').filter(Boolean);
  const common = left.findIndex((part, index) => part !== right[index]);
  const shared = common < 0 ? left.length : common;
  return [...left.slice(shared).map(() => '..'), ...right.slice(shared)].join('/');
}

function parse(path: string) {
  const base = basename(path);
  const ext = extname(path);
  const root = path.startsWith('/') ? '/' : '';
  const dir = path.includes('/') ? dirname(path) : '';
  return { root, dir, base, ext, name: ext === '' ? base : base.slice(0, -ext.length) };
}

function format({ dir = '', root = '', base, name = '', ext = '' }: Partial<ReturnType<typeof parse>>): string {
  const file = base ?? name + ext;
  return dir === '' ? root + file : dir === root ? dir + file : `${dir}/${file}`;
}

export const guestPath = {
  sep: '/',
  delimiter: ':',
  normalize,
  join,
  resolve,
  dirname,
  basename,
  extname,
  relative,
  parse,
  format,
  isAbsolute: (path: string) => path.startsWith('/'),
};
