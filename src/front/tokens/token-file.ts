/**
 * The tokens in `http/tokens.json` of the state directory. A token is 256 random bits, and only its SHA-256 is stored. A slow hash
 * would protect passwords, which can be guessed; nobody guesses 256 bits, and it would cost every request 100 ms.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { type BigIntStats, lstat } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import { BridgeError, messageOf } from '../../core/base/errors.ts';
import { changeJsonFile } from '../../core/state/change-file.ts';
import { HTTP_FOLDER, TOKEN_NAME } from '../../core/state/principals.ts';
import { readBounded } from '../../core/state/state-files.ts';

const FILE = 'tokens.json';
const MAX_FILE_BYTES = 4 * 1024 * 1024;
/** Chosen: each request is compared with all of them. */
const MAX_TOKENS = 10_000;
const TOKEN_BYTES = 32;
/** Lets people and scanners of secrets recognize it. */
export const TOKEN_PREFIX = 'mcpb_';
const TOKEN = new RegExp(`^${TOKEN_PREFIX}[A-Za-z0-9_-]{43}$`);

/** As in policies. */
const MAX_PATTERNS = 1_000;
const MAX_PATTERN_CHARS = 256;

const TokenSchema = z.strictObject({
  name: z.string().regex(TOKEN_NAME),
  /** SHA-256 in hex of the token as the client sends it. */
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  /** ISO 8601. */
  created_at: z.iso.datetime(),
  expires_at: z.iso.datetime().optional(),
  max_sessions: z.int().positive().optional(),
  profile: z.string().regex(TOKEN_NAME).optional(),
  /** Names or patterns. */
  servers: z.array(z.string().min(1).max(MAX_PATTERN_CHARS)).min(1).max(MAX_PATTERNS).optional(),
});
const FileSchema = z.strictObject({ version: z.literal(1), tokens: z.array(TokenSchema).max(MAX_TOKENS) });

export type StoredToken = z.infer<typeof TokenSchema>;

export type TokenLimits = Pick<StoredToken, 'expires_at' | 'max_sessions' | 'profile' | 'servers'>;

const statOf = promisify(
  (path: string, done: (error: NodeJS.ErrnoException | null, stats?: BigIntStats) => void): void =>
    lstat(path, { bigint: true }, done),
);

export class TokenFile {
  readonly path: string;
  #read: { readonly version: string; readonly tokens: Promise<readonly StoredToken[]> } | undefined;

  constructor(stateDir: string) {
    this.path = join(stateDir, HTTP_FOLDER, FILE);
  }

  /**
   * The tokens as they are now; undefined if there never was one. Reads the file only if it has changed, because each request asks.
   * Rejects with `CONFIG_INVALID` if it cannot be read.
   */
  async list(): Promise<readonly StoredToken[] | undefined> {
    const version = await this.#version();
    if (version === undefined) {
      return undefined;
    }
    if (this.#read?.version !== version) {
      this.#read = { version, tokens: readTokens(this.path) };
      // Whoever asks gets the error.
      this.#read.tokens.catch(() => undefined);
    }
    return this.#read.tokens;
  }

  /** The stored token that was sent, expired or not. Takes as long whether there is one or not. */
  async find(sent: string): Promise<StoredToken | undefined> {
    const tokens = (await this.list()) ?? [];
    if (!TOKEN.test(sent)) {
      return undefined;
    }
    const hash = hashOf(sent);
    let found: StoredToken | undefined;
    for (const token of tokens) {
      if (timingSafeEqual(Buffer.from(token.sha256, 'hex'), hash)) {
        found = token;
      }
    }
    return found;
  }

  /** Makes a token and returns it: nothing else can show it again. Rejects with `USAGE_INVALID` or `STATE_WRITE_FAILED`. */
  async add(name: string, limits: TokenLimits): Promise<string> {
    const secret = `${TOKEN_PREFIX}${randomBytes(TOKEN_BYTES).toString('base64url')}`;
    await this.#change((tokens) => {
      if (tokens.some((token) => token.name === name)) {
        throw new BridgeError('USAGE_INVALID', `there is a token '${name}' already`, {
          hint: `To replace it, remove it first: tokens remove ${name}. What its sessions have kept stays.`,
        });
      }
      if (tokens.length >= MAX_TOKENS) {
        const limit = MAX_TOKENS.toLocaleString('en-US');
        throw new BridgeError('USAGE_INVALID', `there are ${limit} tokens, which is the limit`, {
          hint: 'Remove those that are no longer used.',
        });
      }
      const sha256 = hashOf(secret).toString('hex');
      return [...tokens, { name, sha256, created_at: new Date().toISOString(), ...limits }];
    });
    return secret;
  }

  /** Removes tokens; returns the names that have none. Rejects with `STATE_WRITE_FAILED`. */
  async remove(names: readonly string[]): Promise<string[]> {
    let unknown: string[] = [];
    await this.#change((tokens) => {
      unknown = names.filter((name) => !tokens.some((token) => token.name === name));
      return tokens.filter(({ name }) => !names.includes(name));
    });
    return unknown;
  }

  async #change(change: (tokens: readonly StoredToken[]) => readonly StoredToken[]): Promise<void> {
    await changeJsonFile(this.path, async () => ({ version: 1, tokens: change((await this.list()) ?? []) }));
  }

  /** Changes with the file, because each write makes a new one. Undefined if there is none. */
  async #version(): Promise<string | undefined> {
    try {
      const stats = await statOf(this.path);
      return stats && `${stats.ino} ${stats.size} ${stats.mtimeNs} ${stats.ctimeNs}`;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
        return undefined;
      }
      throw unreadable(this.path, error);
    }
  }
}

async function readTokens(path: string): Promise<readonly StoredToken[]> {
  try {
    return FileSchema.parse(JSON.parse((await readBounded(path, MAX_FILE_BYTES)).toString('utf8'))).tokens;
  } catch (error) {
    throw unreadable(path, error);
  }
}

function unreadable(path: string, error: unknown): BridgeError {
  const why = error instanceof z.ZodError ? 'it is not a list of tokens' : messageOf(error);
  return new BridgeError('CONFIG_INVALID', `${path} cannot be read: ${why}`, {
    hint: 'Fix its permissions, or remove it and add all tokens again.',
    cause: error,
  });
}

function hashOf(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}
