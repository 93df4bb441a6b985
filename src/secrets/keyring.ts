/**
 * A key of 256 bits in the keyring of the system, with which logins on disk are sealed. The keyring holds the key and not
 * the logins: `secret-tool` reads 8,192 bytes and drops the rest with exit code 0, and `security` takes lines of 4,096.
 * The key is written to the standard input of the program and read from its output; it never stands in an argument list.
 */
import { randomBytes } from 'node:crypto';
import { type CommandPlace, runCommand } from './secret-command.ts';

const SERVICE = 'mcp-server-code-execution-mode';
const ACCOUNT = 'key-of-logins';
/** A person may have to unlock the keyring; a session bus that nobody answers on is given up. Chosen. */
const TIME_LIMIT_MS = 10_000;
/** So long a keyring that failed is not asked again: a call would wait each time. Chosen. */
const RETRY_MS = 30_000;
const KEY_BYTES = 32;

/** One run of the program that speaks to the keyring. */
export interface KeyringCommand {
  readonly words: readonly string[];
  /** What it reads from its standard input. */
  readonly input: string | undefined;
}

export interface KeyringCommands {
  readonly read: KeyringCommand;
  readonly write: (secret: string) => KeyringCommand;
}

/** How the keyring of a platform is read and written; undefined where no program comes with the system. Pure. */
export function keyringCommands(platform: NodeJS.Platform): KeyringCommands | undefined {
  switch (platform) {
    case 'darwin':
      return {
        read: { words: ['security', 'find-generic-password', '-s', SERVICE, '-a', ACCOUNT, '-w'], input: undefined },
        // As an option, `-w SECRET` would be seen in the list of processes; with -i the whole command is read.
        write: (secret) => ({
          words: ['security', '-i'],
          input: `add-generic-password -U -s ${SERVICE} -a ${ACCOUNT} -w ${secret}\n`,
        }),
      };
    case 'win32':
      return undefined;
    default: {
      const attributes = ['service', SERVICE, 'account', ACCOUNT];
      return {
        read: { words: ['secret-tool', 'lookup', ...attributes], input: undefined },
        write: (secret) => ({ words: ['secret-tool', 'store', `--label=${SERVICE}`, ...attributes], input: secret }),
      };
    }
  }
}

export interface Keyring {
  /** The key for what is sealed already; undefined when the keyring does not give it in time. */
  keyForReading(): Promise<Buffer | undefined>;
  /** The key for what is to be kept; undefined when nothing is to be sealed. */
  keyForSaving(): Promise<Buffer | undefined>;
}

export interface KeyringOptions {
  /** `auto`: logins are sealed when there is a keyring that works; `off`: they are not. */
  readonly mode: 'off' | 'auto';
  readonly platform: NodeJS.Platform;
  readonly env: CommandPlace['env'];
  readonly timeLimitMs?: number;
}

/** Asks the keyring when a key is wanted, and keeps it in memory from then on. */
export function createKeyring(options: KeyringOptions): Keyring {
  const commands = keyringCommands(options.platform);
  let key: Buffer | undefined;
  let retryAt = Number.NEGATIVE_INFINITY;
  let asking: Promise<Buffer | undefined> = Promise.resolve(undefined);

  const run = async ({ words, input }: KeyringCommand): Promise<string> => {
    const { env, timeLimitMs = TIME_LIMIT_MS } = options;
    const printed = await runCommand(words, { cwd: '/', env, timeLimitMs, input });
    return printed.toString('utf8').trim();
  };
  const read = async ({ read: command }: KeyringCommands): Promise<Buffer | undefined> => {
    const text = await run(command).catch(() => '');
    const found = Buffer.from(text, 'hex');
    return found.length === KEY_BYTES ? found : undefined;
  };
  const readOrMake = async (mayMake: boolean): Promise<Buffer | undefined> => {
    if (key !== undefined || commands === undefined || performance.now() < retryAt) {
      return key;
    }
    key = await read(commands);
    if (key === undefined && mayMake) {
      await run(commands.write(randomBytes(KEY_BYTES).toString('hex'))).catch(() => undefined);
      // What is read back is used: another bridge may have made one in the same moment.
      key = await read(commands);
    }
    retryAt = key === undefined ? performance.now() + RETRY_MS : retryAt;
    return key;
  };
  /** One after the other: two that find no key must not make two. */
  const ask = (mayMake: boolean): Promise<Buffer | undefined> => {
    asking = asking.then(() => readOrMake(mayMake));
    return asking;
  };
  return {
    keyForReading: () => ask(false),
    keyForSaving: async () => (options.mode === 'off' ? undefined : ask(true)),
  };
}
