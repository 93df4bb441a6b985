/** `import` and `require`: the files of the program, and the few modules of Node that exist here. */
import { textOf } from './bytes.ts';
import type { MemoryFiles } from './memory-files.ts';
import { guestPath } from './paths.ts';

const SCHEME = 'file://';
const BUILTIN = 'node:';
/** Under this name on the global object, the sources of the modules of Node find their objects. */
const REGISTRY = Symbol.for('bridge.modules');
const IDENTIFIER = /^(?!default$|delete$)[A-Za-z_$][\w$]*$/;
/** What a CommonJS module finds in its scope. */
const WRAPPER = ['exports', 'require', 'module', '__filename', '__dirname'];
/** Modules of Node that do not exist here. */
const ABSENT =
  /^(?:node:.*|assert|async_hooks|child_process|cluster|crypto|dgram|diagnostics_channel|dns|domain|http|http2|https|inspector|module|net|perf_hooks|punycode|readline|repl|stream|string_decoder|tls|trace_events|tty|v8|vm|wasi|worker_threads|zlib)(?:\/.*)?$/;

/** What to say about something of Node that is missing here. */
export function missingText(what: string): string {
  return `${what} is not available in JavaScript on the embedded engine (QuickJS in WebAssembly). With a container engine (podman or docker) on the machine of the bridge, programs run in Node, which has it.`;
}

export class GuestModules {
  readonly #files: MemoryFiles;
  readonly #builtins: Readonly<Record<string, object>>;
  readonly #required = new Map<string, { exports: unknown }>();

  /** `builtins` by name without `node:`. */
  constructor(files: MemoryFiles, builtins: Readonly<Record<string, object>>) {
    this.#files = files;
    this.#builtins = builtins;
    Object.defineProperty(globalThis, REGISTRY, { value: builtins });
  }

  /** The full name of the module. A name that means nothing is returned as it is, and cannot be loaded. */
  resolve(base: string, specifier: string): string {
    if (this.#builtin(specifier) !== undefined) {
      return BUILTIN + specifier.replace(BUILTIN, '');
    }
    if (specifier.startsWith(SCHEME)) {
      return specifier;
    }
    if (/^\.{0,2}\//.test(specifier)) {
      const folder = base.startsWith(SCHEME) ? guestPath.dirname(base.slice(SCHEME.length)) : undefined;
      return SCHEME + guestPath.resolve(folder ?? '', specifier);
    }
    return specifier;
  }

  /** The source of an ES module. */
  load(name: string): string {
    if (name.startsWith(BUILTIN) && this.#builtin(name) !== undefined) {
      return this.#builtinSource(name.slice(BUILTIN.length));
    }
    if (!name.startsWith(SCHEME)) {
      throw new Error(whyAbsent(name));
    }
    const path = name.slice(SCHEME.length);
    if (this.#files.kindOf(path) !== 'file') {
      throw new Error(`Cannot find module '${path}'`);
    }
    if (path.endsWith('.cjs')) {
      return `const exported = globalThis[Symbol.for('bridge.require')](${JSON.stringify(path)}); export default exported;`;
    }
    const source = this.#source(path);
    return path.endsWith('.json') ? `export default ${safeJson(source, path)};` : withMeta(source, name, path);
  }

  /** `require` of CommonJS, for a file at `base`. */
  require(base: string, specifier: string): unknown {
    const builtin = this.#builtin(specifier);
    if (builtin !== undefined) {
      return builtin;
    }
    if (!/^\.{0,2}\//.test(specifier)) {
      throw new Error(whyAbsent(specifier));
    }
    const path = this.#findFile(guestPath.resolve(guestPath.dirname(base), specifier));
    const known = this.#required.get(path);
    if (known !== undefined) {
      return known.exports;
    }
    const module = { exports: {} as unknown };
    this.#required.set(path, module);
    const source = this.#source(path);
    if (path.endsWith('.json')) {
      module.exports = JSON.parse(source);
    } else {
      const run = Reflect.construct(Function, [...WRAPPER, source]) as (...values: unknown[]) => void;
      const nested = (name: string) => this.require(path, name);
      run(module.exports, nested, module, path, guestPath.dirname(path));
    }
    return module.exports;
  }

  /** A line of a file, for the text of an error. */
  line(url: string, number: number): string | undefined {
    const path = url.replace(SCHEME, '');
    return this.#files.kindOf(path) === 'file' ? this.#source(path).split('\n')[number - 1] : undefined;
  }

  #builtin(specifier: string): object | undefined {
    const name = specifier.replace(BUILTIN, '');
    return Object.hasOwn(this.#builtins, name) ? this.#builtins[name] : undefined;
  }

  #builtinSource(name: string): string {
    const quoted = JSON.stringify(name);
    const names = Object.keys(this.#builtins[name] ?? {}).filter((key) => IDENTIFIER.test(key));
    const exported = names.map((key) => `export const ${key} = module.${key};`).join('');
    return `const module = globalThis[Symbol.for('bridge.modules')][${quoted}]; export default module; ${exported}`;
  }

  #source(path: string): string {
    return textOf(this.#files.file(path).content)
      .replace(/^\uFEFF/, '')
      .replace(/^#!.*/, '');
  }

  #findFile(path: string): string {
    const found = [path, `${path}.js`, `${path}.cjs`, `${path}.json`, `${path}/index.js`].find(
      (candidate) => this.#files.kindOf(candidate) === 'file',
    );
    if (found === undefined) {
      throw Object.assign(new Error(`Cannot find module '${path}'`), { code: 'MODULE_NOT_FOUND' });
    }
    return found;
  }
}

function whyAbsent(name: string): string {
  return ABSENT.test(name)
    ? missingText(`The module ${name}`)
    : `The package ${name} is not available: a program has its own files and modules of Node, but no packages. Put the code into a file beside the program.`;
}

/** QuickJS does not fill `import.meta`. On the first line, because line numbers must not change. */
function withMeta(source: string, url: string, path: string): string {
  if (!source.includes('import.meta')) {
    return source;
  }
  const meta = { url, filename: path, dirname: guestPath.dirname(path) };
  return `Object.assign(import.meta, ${JSON.stringify(meta)}); ${source}`;
}

function safeJson(source: string, path: string): string {
  try {
    // Not the text itself: `{"__proto__": 1}` means something else as source.
    return `JSON.parse(${JSON.stringify(JSON.stringify(JSON.parse(source)))})`;
  } catch (error) {
    throw new SyntaxError(`${path}: ${(error as Error).message}`);
  }
}
