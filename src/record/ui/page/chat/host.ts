/**
 * Speaks with the host of a view, as MCP Apps says (SEP-1865, version 2026-01-26): JSON-RPC over `postMessage`. The host is believed
 * only what a host can say: a message of another window, of another form, or at another time does nothing.
 */

const PROTOCOL_VERSION = '2026-01-26';
const METHOD_NOT_FOUND = -32_601;
const INITIALIZE_ID = 1;

export type HostMembers = Readonly<Record<string, unknown>>;

/** What the view learns. Nothing of it has been checked beyond what the types say. */
export interface HostEvents {
  /** After the handshake, and whenever the host changes something; only what has changed. */
  onContext(context: HostMembers): void;
  /** The arguments of the tool; incomplete while the model writes them. */
  onInput(given: HostMembers): void;
  onResult(result: HostMembers): void;
  onCancelled(): void;
}

/** The part of `window` that this needs. */
export interface ViewWindow {
  readonly parent: { postMessage(message: unknown, targetOrigin: string): void };
  addEventListener(
    type: 'message',
    listen: (event: { readonly source: unknown; readonly data: unknown }) => void,
  ): void;
}

export interface Size {
  readonly width: number;
  readonly height: number;
}

export class Host {
  readonly #view: ViewWindow;
  readonly #events: HostEvents;
  #isReady = false;
  #size: Size | undefined;

  /** Begins the handshake. */
  constructor(view: ViewWindow, events: HostEvents) {
    this.#view = view;
    this.#events = events;
    view.addEventListener('message', ({ data, source }) => {
      if (source === view.parent && isMembers(data) && data['jsonrpc'] === '2.0') {
        this.#take(data);
      }
    });
    this.#send({
      id: INITIALIZE_ID,
      method: 'ui/initialize',
      params: {
        protocolVersion: PROTOCOL_VERSION,
        appInfo: { name: 'mcp-server-code-execution-mode', version: '1' },
        appCapabilities: { availableDisplayModes: ['inline', 'fullscreen'] },
      },
    });
  }

  /** Tells the host how large the content is, if that has changed. Before the handshake, it only notes it. */
  resized(size: Size): void {
    const isNew = this.#size?.width !== size.width || this.#size.height !== size.height;
    this.#size = size;
    if (isNew && this.#isReady) {
      this.#send({ method: 'ui/notifications/size-changed', params: { ...size } });
    }
  }

  #take(message: HostMembers): void {
    const { id, method, params } = message;
    if (method === undefined) {
      this.#takeAnswer(message);
    } else if (typeof method === 'string' && id === undefined) {
      this.#takeNotification(method, isMembers(params) ? params : {});
    } else if (typeof method === 'string' && (typeof id === 'string' || typeof id === 'number')) {
      const isKnown = method === 'ping' || method === 'ui/resource-teardown';
      this.#send(
        isKnown
          ? { id, result: {} }
          : { id, error: { code: METHOD_NOT_FOUND, message: 'The view has no such method.' } },
      );
    }
  }

  /** There is only one request. */
  #takeAnswer({ id, result }: HostMembers): void {
    if (this.#isReady || id !== INITIALIZE_ID || !isMembers(result) || typeof result['protocolVersion'] !== 'string') {
      return;
    }
    this.#isReady = true;
    const context = result['hostContext'];
    this.#events.onContext(isMembers(context) ? context : {});
    this.#send({ method: 'ui/notifications/initialized', params: {} });
    if (this.#size !== undefined) {
      this.#send({ method: 'ui/notifications/size-changed', params: { ...this.#size } });
    }
  }

  #takeNotification(method: string, params: HostMembers): void {
    if (!this.#isReady) {
      return;
    }
    const { arguments: given } = params;
    switch (method) {
      case 'ui/notifications/tool-input':
      case 'ui/notifications/tool-input-partial':
        this.#events.onInput(isMembers(given) ? given : {});
        break;
      case 'ui/notifications/tool-result':
        this.#events.onResult(params);
        break;
      case 'ui/notifications/tool-cancelled':
        this.#events.onCancelled();
        break;
      case 'ui/notifications/host-context-changed':
        this.#events.onContext(params);
        break;
      default:
    }
  }

  /** A page cannot know the origin of its parent; nothing that it sends is secret. */
  #send(message: HostMembers): void {
    this.#view.parent.postMessage({ jsonrpc: '2.0', ...message }, '*');
  }
}

export function isMembers(value: unknown): value is HostMembers {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
