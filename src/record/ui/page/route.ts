/** Addresses within the page, which are in the fragment so that Back works: `#/history?text=orders`, `#/cells/ID`. */

export const VIEWS = ['now', 'approvals', 'history', 'servers', 'savings', 'stored'] as const;
export type ViewName = (typeof VIEWS)[number];

export interface Route {
  readonly view: ViewName | 'cells';
  /** Of a cell. */
  readonly id: string;
  readonly query: Readonly<Record<string, string>>;
}

export function parseRoute(hash: string): Route {
  const [path = '', search = ''] = hash.replace(/^#?\/?/, '').split('?', 2);
  const [first = '', ...rest] = path.split('/');
  const query = Object.fromEntries([...new URLSearchParams(search)].filter(([, value]) => value !== ''));
  if (first === 'cells' && rest.length > 0) {
    return { view: 'cells', id: decoded(rest.join('/')), query };
  }
  return { view: VIEWS.find((view) => view === first) ?? 'now', id: '', query };
}

export function formatRoute(view: Route['view'], query: Readonly<Record<string, string>> = {}, id = ''): string {
  const search = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== '')).toString();
  const path = view === 'cells' ? `cells/${encodeURIComponent(id)}` : view;
  return `#/${path}${search === '' ? '' : `?${search}`}`;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // A stray percent sign: someone has typed the address.
    return text;
  }
}
