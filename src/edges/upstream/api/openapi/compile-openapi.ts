/**
 * Compiles a description of an API (Swagger 2.0, OpenAPI 3.0 to 3.2) to tools and the requests they send. Pure. An operation that cannot
 * be used is left out with a notice.
 */
import { messageOf } from '../../../../core/base/errors.ts';
import type { JsonObject } from '../../../../core/base/is-object.ts';
import { isObject } from '../../../../core/base/is-object.ts';
import type { UpstreamTool } from '../../tool-list.ts';
import type { CompiledApi, HttpOperation } from '../compiled-api.ts';
import { addressesIn, addressesOf } from './addresses.ts';
import { ApiDocument, isReference, OperationFault, objectOf, shorten, textOf } from './api-document.ts';
import { SHORT_LENGTHS, USUAL_LENGTHS } from './bounded-schema.ts';
import { compileOperation, type OperationContext } from './compile-operation.ts';
import { credentialsOf } from './credentials.ts';
import { CompileNotices } from './notices.ts';
import type { Site } from './request-parts.ts';
import { ToolNames } from './tool-names.ts';

const MAX_TOOLS = 10_000;
const MAX_CHARS = 48 * 1024 * 1024;
/** The catalog takes 16 million characters of one server. */
const MAX_CATALOG_CHARS = 14 * 1024 * 1024;
const MAX_INSTRUCTIONS_CHARS = 4_000;
const MAX_TITLE_CHARS = 200;
/** Chosen: servers refuse longer ones. */
const MAX_PATH_CHARS = 2_000;
const METHODS: ReadonlySet<string> = new Set(['get', 'head', 'options', 'post', 'put', 'patch', 'delete']);

/** Throws an error that says why the document cannot be used, such as `is not an OpenAPI document: …`. */
export function compileOpenApi(source: unknown): CompiledApi {
  const document = new ApiDocument(source);
  const unread = new CompileNotices();
  const sites = sitesOf(document, unread);
  const described = addressesOf(document);
  const own = sites.map(({ item, operation }) => addressesIn(operation['servers'] ?? item['servers']));
  const addresses = described.length > 0 ? described : (own.find((found) => found.length > 0) ?? []);
  const credentials = credentialsOf(document);
  const { tools, operations, notices } = compileAll(document, sites, { credentials, address: addresses[0] });
  const all = [...unread.list(), ...notices.list()];
  if (tools.length === 0) {
    throw new Error(`has no operation that can be used${all.length === 0 ? '' : ` (${all[0]})`}`);
  }
  const info = objectOf(document.root['info']);
  return {
    title: shorten(textOf(info['title']), MAX_TITLE_CHARS),
    version: shorten(textOf(info['version']), MAX_TITLE_CHARS),
    instructions: shorten(textOf(info['description']) || textOf(info['summary']), MAX_INSTRUCTIONS_CHARS),
    addresses,
    credentials,
    tools,
    operations: Object.fromEntries(operations),
    notices: all,
  };
}

type Surroundings = Omit<OperationContext, 'name' | 'lengths'>;

/** Once more with shorter schemas if the tools together are more than the catalog takes. */
function compileAll(document: ApiDocument, sites: readonly Site[], surroundings: Surroundings): Compiler {
  const usual = new Compiler(document, { ...surroundings, lengths: USUAL_LENGTHS });
  sites.forEach((site) => usual.add(site));
  if (usual.chars <= MAX_CATALOG_CHARS) {
    return usual;
  }
  const short = new Compiler(document, { ...surroundings, lengths: SHORT_LENGTHS });
  sites.forEach((site) => short.add(site));
  return short;
}

class Compiler {
  readonly tools: UpstreamTool[] = [];
  readonly operations: [string, HttpOperation][] = [];
  readonly notices = new CompileNotices();
  /** The length of everything as JSON. */
  chars = 0;
  readonly #document: ApiDocument;
  readonly #context: Omit<OperationContext, 'name'>;
  readonly #names = new ToolNames();

  constructor(document: ApiDocument, context: Omit<OperationContext, 'name'>) {
    this.#document = document;
    this.#context = context;
  }

  add(site: Site): void {
    // Also for one that is left out, so that the names of the others stay if it can be used one day.
    const name = this.#names.claim(textOf(site.operation['operationId']), site.method, site.path);
    if (this.tools.length >= MAX_TOOLS || this.chars > MAX_CHARS) {
      const limit = `${MAX_TOOLS.toLocaleString('en-US')} operations or ${MAX_CHARS / 1024 / 1024} MiB`;
      this.notices.add(name, `left out, because the limit is ${limit}`);
      return;
    }
    try {
      const { tool, operation, remarks } = compileOperation(this.#document, site, { ...this.#context, name });
      this.chars += JSON.stringify([tool, operation]).length;
      this.tools.push(tool);
      this.operations.push([name, operation]);
      remarks.forEach((remark) => this.notices.add(name, remark));
    } catch (error) {
      const reason = error instanceof OperationFault ? error.message : `is not valid: ${messageOf(error)}`;
      this.notices.add(name, `left out, because it ${reason}`);
    }
  }
}

/** Every operation, in the order of the document. */
function sitesOf(document: ApiDocument, notices: CompileNotices): Site[] {
  const sites: Site[] = [];
  for (const [key, value] of Object.entries(objectOf(document.root['paths']))) {
    if (key.startsWith('x-') || key.length > MAX_PATH_CHARS) {
      continue;
    }
    const path = plainPath(key);
    try {
      const item = pathItem(document, value);
      for (const [method, operation] of Object.entries(item).filter(([, described]) => isObject(described))) {
        if (METHODS.has(method)) {
          // Not of the specification, but found in descriptions of many files.
          sites.push({ method, path, item, operation: document.object(operation) });
        } else if (method === 'query' || method === 'additionalOperations') {
          notices.add(path, 'operations with other methods than those of HTTP/1.1 are left out');
        }
      }
    } catch (error) {
      notices.add(path, `left out, because it ${messageOf(error)}`);
    }
  }
  return sites;
}

/** Members beside a reference override those of the path item it refers to. */
function pathItem(document: ApiDocument, value: unknown): JsonObject {
  return isReference(value) ? { ...document.object(value), ...objectOf(value) } : objectOf(value);
}

/** With `/` at its beginning, without a fragment, and with plain names: `{+name}` and `{path*}` are of URI templates (RFC 6570). */
function plainPath(path: string): string {
  const plain = path.replace(/#.*/s, '').replaceAll(/\{\+?([^{}*]+)\*?\}/g, '{$1}');
  return plain.startsWith('/') ? plain : `/${plain}`;
}
