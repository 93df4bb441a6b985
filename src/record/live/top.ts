/** `top`: asks every running bridge what it does, shows it, and passes on what a person decides. */
import { messageOf } from '../../core/base/errors.ts';
import { renderJson } from '../../core/base/log.ts';
import type { CommandContext, CommandHost } from '../../edges/terminal/command.ts';
import { describeBridges, findBridges, type LiveClient } from '../local-api/client.ts';
import type { TopCommand } from './top-command.ts';
import { type KeyAction, keyActions } from './top-keys.ts';
import { renderTop, type ShownBridge, type ShownSession, sessionsOf } from './top-view.ts';

type TopOptions = Pick<CommandContext, 'settings'> &
  Pick<CommandHost, 'env' | 'input' | 'writeOut' | 'hasColors' | 'isShown' | 'screenSize'>;

const REFRESH_MS = 1_000;
const KEYS = 'up/down choose, i interrupt, e end, h hibernate, q quit';
/** A pipe has no width, and its reader may want whole lines. */
const ANY_WIDTH = 1_000;
const USUAL_SIZE = { columns: 80, rows: 24 };

/** Resolves with 0. */
export async function top({ isJson, isOnce }: TopCommand, options: TopOptions): Promise<number> {
  const { env, input, isShown, settings, writeOut } = options;
  const canRedraw = isShown && env['TERM'] !== 'dumb' && isTerminal(input);
  if (!isJson && !isOnce && canRedraw) {
    return new Screen(options, input).run();
  }
  const { shown } = await askAll(settings.stateDir);
  if (isJson) {
    writeOut(renderJson({ at: new Date().toISOString(), bridges: shown }));
    return 0;
  }
  const columns = isShown ? sizeOf(options).columns : ANY_WIDTH;
  const view = { columns, rows: undefined, selected: undefined, footer: undefined, now: Date.now() };
  const lines = renderTop(shown, { ...view, hasColors: options.hasColors });
  writeOut(lines.map((line) => `${line}\n`).join(''));
  return 0;
}

interface Asked {
  readonly shown: readonly ShownBridge[];
  readonly clients: ReadonlyMap<number, LiveClient>;
}

async function askAll(stateDir: string): Promise<Asked> {
  const clients = await findBridges(stateDir);
  const shown = (await describeBridges(clients)).map(({ id: _id, info, ...lists }) => ({ ...info, ...lists }));
  return { shown, clients: new Map(clients.map((client) => [client.pid, client])) };
}

interface RawInput extends NodeJS.ReadableStream {
  setRawMode(isRaw: boolean): unknown;
}

function isTerminal(input: NodeJS.ReadableStream): input is RawInput {
  return 'setRawMode' in input && typeof input.setRawMode === 'function';
}

function sizeOf({ screenSize }: TopOptions): { readonly columns: number; readonly rows: number } {
  const { columns = USUAL_SIZE.columns, rows = USUAL_SIZE.rows } = screenSize?.() ?? USUAL_SIZE;
  return { columns, rows };
}

/** The alternate screen, without a cursor; and back. */
const ENTER = '\u001b[?1049h\u001b[?25l';
const LEAVE = '\u001b[?25h\u001b[?1049l';
const HOME = '\u001b[H';
const CLEAR_LINE = '\u001b[K';
const CLEAR_BELOW = '\u001b[J';

class Screen {
  readonly #options: TopOptions;
  readonly #input: RawInput;
  #asked: Asked = { shown: [], clients: new Map() };
  #selected = 0;
  #footer = KEYS;
  /** What the next `y` does. */
  #pending: (() => Promise<string>) | undefined;
  #quit: () => void = () => undefined;

  constructor(options: TopOptions, input: RawInput) {
    this.#options = options;
    this.#input = input;
  }

  async run(): Promise<number> {
    const ended = new Promise<void>((resolve) => {
      this.#quit = resolve;
    });
    const { writeOut } = this.#options;
    const onData = (data: Buffer | string): void => keyActions(String(data)).forEach((action) => this.#take(action));
    const restore = (): void => {
      this.#input.setRawMode(false);
      writeOut(LEAVE);
    };
    writeOut(ENTER);
    this.#input.setRawMode(true);
    this.#input.on('data', onData).resume();
    process.once('SIGTERM', this.#quit).once('SIGHUP', this.#quit);
    const timer = setInterval(() => void this.#refresh(), REFRESH_MS);
    try {
      await this.#refresh();
      await ended;
    } finally {
      clearInterval(timer);
      this.#input.off('data', onData).pause();
      restore();
    }
    return 0;
  }

  async #refresh(): Promise<void> {
    this.#asked = await askAll(this.#options.settings.stateDir);
    this.#draw();
  }

  #draw(): void {
    const { shown } = this.#asked;
    this.#selected = Math.max(0, Math.min(this.#selected, sessionsOf(shown).length - 1));
    const { hasColors, writeOut } = this.#options;
    const view = { ...sizeOf(this.#options), selected: this.#selected, footer: this.#footer, now: Date.now() };
    const lines = renderTop(shown, { ...view, hasColors });
    writeOut(`${HOME}${lines.map((line) => `${line}${CLEAR_LINE}`).join('\r\n')}${CLEAR_BELOW}`);
  }

  #take(action: KeyAction): void {
    const pending = this.#pending;
    this.#pending = undefined;
    this.#footer = KEYS;
    if (action === 'quit') {
      this.#quit();
      return;
    }
    if (action === 'yes') {
      void pending?.().then(
        (said) => this.#say(said),
        (error: unknown) => this.#say(messageOf(error)),
      );
    } else if (action === 'up' || action === 'down') {
      this.#selected += action === 'up' ? -1 : 1;
    } else if (action !== 'other') {
      this.#change(action);
    }
    this.#draw();
  }

  #change(action: 'interrupt' | 'end' | 'hibernate'): void {
    const chosen = sessionsOf(this.#asked.shown)[this.#selected];
    if (chosen === undefined) {
      return;
    }
    const { name } = chosen.session;
    const change = (): Promise<string> => this.#post(chosen, action);
    if (action === 'end') {
      // Unlike the others, it loses something.
      this.#pending = change;
      this.#footer = `y ends session ${name} and loses what is not saved, any other key does not`;
      return;
    }
    void change().then(
      (said) => this.#say(said),
      (error: unknown) => this.#say(messageOf(error)),
    );
  }

  async #post({ bridge, session }: ShownSession, action: string): Promise<string> {
    const { name, principal = '', profile = '' } = session;
    const query = new URLSearchParams({ principal, profile });
    const client = this.#asked.clients.get(bridge.pid);
    await client?.post(`/v1/sessions/${encodeURIComponent(name)}/${action}?${query.toString()}`);
    return `${action}: done for session ${name}`;
  }

  #say(text: string): void {
    this.#footer = text;
    void this.#refresh();
  }
}
