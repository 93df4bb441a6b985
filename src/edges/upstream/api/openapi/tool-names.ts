/** Names of tools: distinct Python identifiers in any case, made of the operations in the order of the document. */
import { toIdentifier } from '../../../../core/catalog/names.ts';

/** Chosen: longer ones of real descriptions repeat the path. */
const MAX_NAME_CHARS = 100;

export class ToolNames {
  readonly #taken = new Set<string>();

  /** The name for an operation. Later operations never change it. */
  claim(operationId: string, method: string, path: string): string {
    const own = plainName(withoutRoute(operationId, method, path));
    const base = (own === '' ? plainName(nameOfPath(method, path)) : own).slice(0, MAX_NAME_CHARS);
    let name = toIdentifier(base);
    for (let count = 2; this.#taken.has(name.toLowerCase()); count += 1) {
      name = `${toIdentifier(base).slice(0, MAX_NAME_CHARS - String(count).length - 1)}_${count}`;
    }
    this.#taken.add(name.toLowerCase());
    return name;
  }
}

/** An identifier stays as it is, unless it begins with two `_`, which Python treats specially. Empty if no letter is left. */
function plainName(text: string): string {
  if (/^(?!__)[A-Za-z_]\w*$/.test(text)) {
    return text;
  }
  const plain = text.replaceAll(/\W+/g, '_').replaceAll(/__+/g, '_');
  return /[A-Za-z]/.test(plain) ? plain.replaceAll(/^_|_$/g, '') : '';
}

/** FastAPI makes `get_order_orders__id__get` of the function `get_order` at `GET /orders/{id}`. */
function withoutRoute(operationId: string, method: string, path: string): string {
  const route = `${path.replaceAll(/\W/g, '_')}_${method.toLowerCase()}`;
  return operationId.endsWith(route) && operationId.length > route.length
    ? operationId.slice(0, -route.length)
    : operationId;
}

/** `get_orders_by_id` for `GET /orders/{id}`. */
function nameOfPath(method: string, path: string): string {
  const words = path.replaceAll(/\{([^}]*)\}/g, '/by/$1/').split(/[^A-Za-z0-9]+/);
  return [method.toLowerCase(), ...words.filter((word) => word !== '')].join('_');
}
