/**
 * Which authorization server may be used for a login. A remote server names it, so a hostile one can name another at any time
 * and receive what the user meant for the first: the client secret of the entry. It must also show that it supports PKCE (MCP
 * specification 2025-11-25, "Authorization Code Protection"), without which a stolen code could be used.
 */
import type { OAuthDiscoveryState } from '@modelcontextprotocol/client';
import { BridgeError } from '../../../core/base/errors.ts';
import { escapeControls } from '../../../core/base/log.ts';
import { COMMAND } from '../../../core/base/package.ts';
import type { RemoteDefinition } from '../../../core/base/server-definition.ts';
import { quoteShellWord } from '../../../core/base/shell-words.ts';
import { createMask } from '../secrets.ts';
import type { LoginRecord } from './login-store.ts';

/** An address that means the same in every shell, because it is shown in a command. */
const PLAIN = /^https?:\/\/[\w.:/~-]+$/;
const SHOWN_CHARS = 200;

type Discovered = Pick<OAuthDiscoveryState, 'authorizationServerUrl' | 'authorizationServerMetadata'>;

interface IssuerRuleOptions {
  readonly definition: RemoteDefinition;
  /** The previous login. */
  readonly before: LoginRecord | undefined;
  /** The issuer that the person named for this login. */
  readonly confirmed: string | undefined;
}

/** The issuer of an authorization server (RFC 8414), or its address if it publishes no metadata. */
export function issuerOf({ authorizationServerUrl, authorizationServerMetadata }: Discovered): string {
  return authorizationServerMetadata?.issuer ?? authorizationServerUrl;
}

export class IssuerRule {
  readonly #definition: RemoteDefinition;
  /** The issuer that the entry or the person names. */
  readonly #chosen: string | undefined;
  /** The issuer that got the client secret before. */
  readonly #bound: string | undefined;

  constructor({ definition, before, confirmed }: IssuerRuleOptions) {
    const { clientId, clientSecret, issuer } = definition.oauth ?? {};
    this.#definition = definition;
    this.#chosen = issuer ?? confirmed;
    const hasSecretFromBefore = clientSecret !== undefined && before?.client.client_id === clientId;
    this.#bound = before !== undefined && hasSecretFromBefore ? issuerOfRecord(before) : undefined;
  }

  /** Throws if the authorization server must not be used. */
  check(found: Discovered): void {
    this.#checkIssuer(issuerOf(found));
    this.#checkPkce(found);
  }

  #checkIssuer(issuer: string): void {
    const { name, file, oauth } = this.#definition;
    const shown = shorten(issuer);
    const login = `${this.#loginCommand()} --issuer ${PLAIN.test(issuer) ? issuer : 'ADDRESS'}`;
    if (this.#chosen !== undefined && !isSameIssuer(this.#chosen, issuer)) {
      this.#refuse(
        `its authorization server is ${shown}, but ${this.#chosen} was expected`,
        oauth?.issuer === undefined
          ? `If it may be that one, run: ${login}`
          : `If that is correct, change "issuer" in "oauth" of '${name}' in ${file}.`,
      );
    }
    if (this.#chosen === undefined && this.#bound !== undefined && !isSameIssuer(this.#bound, issuer)) {
      const before = shorten(this.#bound);
      this.#refuse(
        `it now names the authorization server ${shown}; the last login with this client secret was at ${before}`,
        `If the new one may have the secret, run: ${login}`,
      );
    }
  }

  /** A person who names the issuer in the entry answers for servers that do not list their methods, as some large ones do not. */
  #checkPkce({ authorizationServerUrl, authorizationServerMetadata: metadata }: Discovered): void {
    const { name, file, url, oauth } = this.#definition;
    const methods = metadata?.code_challenge_methods_supported;
    // Up to 2025-03-26, the server itself was the authorization server, and need not publish metadata.
    const isItself = metadata === undefined && new URL(authorizationServerUrl).origin === new URL(url).origin;
    const isTrusted = methods === undefined && oauth?.issuer !== undefined;
    if (methods?.includes('S256') === true || isItself || isTrusted) {
      return;
    }
    const what = methods === undefined ? 'does not say that it supports' : 'does not support';
    this.#refuse(
      `the authorization server ${shorten(authorizationServerUrl)} ${what} code challenge method S256 (PKCE)`,
      methods === undefined
        ? `If you know that it does, add "issuer" to "oauth" of '${name}' in ${file}, then run: ${this.#loginCommand()}`
        : `Ask its operator to support PKCE, then run: ${this.#loginCommand()}`,
    );
  }

  #loginCommand(): string {
    return `${COMMAND} servers login ${quoteShellWord(this.#definition.name)}`;
  }

  #refuse(reason: string, hint: string): never {
    const { name } = this.#definition;
    const shown = createMask(this.#definition)(reason);
    throw new BridgeError('LOGIN_FAILED', `the login at server '${name}' did not succeed: ${shown}`, {
      hint,
      data: { server: name },
    });
  }
}

function issuerOfRecord({ metadata, authorizationServer }: LoginRecord): string {
  const issuer = metadata?.['issuer'];
  return typeof issuer === 'string' ? issuer : authorizationServer;
}

function shorten(issuer: string): string {
  return escapeControls(issuer).slice(0, SHOWN_CHARS);
}

/** The SDK ignores one slash at the end, too: an issuer with an empty path is written both ways. */
function isSameIssuer(a: string, b: string): boolean {
  return a.replace(/\/$/, '') === b.replace(/\/$/, '');
}
