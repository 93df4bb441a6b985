// Loaded in the process of a JavaScript program before it: `mcp`, and TypeScript that the host has already converted.
import { register } from 'node:module';
import net from 'node:net';

const HOOKS = `
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
export async function resolve(specifier, context, next) {
  try {
    return await next(specifier, context);
  } catch (error) {
    if (!/^\\.{0,2}\\//.test(specifier)) throw error;
    for (const name of [specifier + '.ts', specifier.replace(/\\.m?js$/, '.ts'), specifier + '.js', specifier + '.mjs']) {
      try { return await next(name, context); } catch { /* The first error is thrown if no name fits. */ }
    }
    throw error;
  }
}
export async function load(url, context, next) {
  return /^file:.*\\.m?ts$/.test(url)
    ? { format: 'module', source: await readFile(fileURLToPath(url)), shortCircuit: true }
    : next(url, context);
}`;
register(`data:text/javascript;base64,${Buffer.from(HOOKS).toString('base64')}`);

const pending = new Map();
let last = 0;
let pieces = [];
const pipe = new net.Socket({ fd: 3 });
pipe.unref();
pipe.setEncoding('utf8');
pipe.on('error', () => undefined);
pipe.on('data', (chunk) => {
  // An answer of 64 MiB comes in a thousand pieces, which are searched once.
  pieces.push(chunk);
  if (chunk.includes('\n')) {
    const lines = pieces.join('').split('\n');
    pieces = [lines.pop()];
    for (const line of lines) {
      settle(JSON.parse(line));
    }
  }
});

class MCPError extends Error {
  constructor({ code, message, hint }) {
    super(message);
    this.name = 'MCPError';
    this.code = code;
    this.hint = hint;
  }
}

function settle(answer) {
  const call = pending.get(answer.call);
  pending.delete(answer.call);
  if (pending.size === 0) {
    pipe.unref();
  }
  if (answer.ok) {
    call?.resolve('text' in answer ? parsedOrText(answer.text) : answer.value);
  } else {
    call?.reject(new MCPError(answer.error));
  }
}

/** The value of a text that is an object or a list as JSON, or the text. */
function parsedOrText(text) {
  try {
    return /^\s*[[{]/.test(text) ? JSON.parse(text) : text;
  } catch {
    return text;
  }
}

function callTool(server, tool, given = {}) {
  return new Promise((resolve, reject) => {
    last += 1;
    pending.set(last, { resolve, reject });
    pipe.ref();
    pipe.write(`${JSON.stringify({ call: last, server, tool, arguments: given })}\n`);
  });
}

/** An object whose members are made by `make`; symbols and `then` are not, so that it can be awaited and printed. */
function members(make) {
  return new Proxy(Object.create(null), {
    get: (_, name) => (typeof name === 'string' && name !== 'then' ? make(name) : undefined),
  });
}

Object.defineProperties(globalThis, {
  mcp: { value: members((server) => members((tool) => (given) => callTool(server, tool, given))) },
  MCPError: { value: MCPError },
});
