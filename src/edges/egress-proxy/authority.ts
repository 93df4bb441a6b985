/**
 * The bridge's own certificate authority. Only sandboxes trust it, so that the host can read the requests that their code makes. Its
 * private key stays on the host, in the state directory; the keys of the certificates that it signs are never written.
 */
import { createHmac, createPrivateKey, generateKeyPairSync, type KeyObject, X509Certificate } from 'node:crypto';
import { join } from 'node:path';
import { createSecureContext, type SecureContext } from 'node:tls';
import { CappedMap } from '../../core/base/capped-map.ts';
import { BridgeError, messageOf } from '../../core/base/errors.ts';
import { withFileLock } from '../../core/state/file-lock.ts';
import { ensureDirectory, readBounded, writeAtomically } from '../../core/state/state-files.ts';
import { AUTHORITY_NAME, certifyAuthority, certifyHost, LEAF_LIFE_MS } from './certificate.ts';

/** A key and a certificate of P-256 have 1 KB. */
const MAX_FILE_BYTES = 16 * 1024;
/** Chosen: code reaches a few hosts. A context takes about 30 KB (measured). */
const MAX_CONTEXTS = 64;
/** When a certificate of a host is made anew, long before it expires: a bridge may run for years. */
const CONTEXT_LIFE_MS = LEAF_LIFE_MS / 12;

export interface EgressAuthority {
  /** What sandboxes have to trust. PEM. */
  readonly certificate: string;
  /** For texts that must stay the same as long as the authority does, and that only the host can make. */
  readonly seed: Buffer;
  /** What a server needs to speak TLS as this host: a DNS name, or an IP address without brackets. A new one takes 2 to 4 ms (measured). */
  contextFor(host: string): SecureContext;
}

interface KeyWithCertificate {
  readonly key: KeyObject;
  readonly certificate: string;
}

/**
 * Reads the authority from `authority.pem` in the folder, or makes it if it is missing, broken, or would expire before a certificate that
 * it signs now. Rejects with `STATE_WRITE_FAILED`.
 */
export async function openAuthority(folder: string): Promise<EgressAuthority> {
  const path = join(folder, 'authority.pem');
  const { key, certificate } = (await readAuthority(path)) ?? (await makeAuthority(folder, path));
  const contexts = new CappedMap<string, { readonly context: SecureContext; readonly madeAt: number }>(MAX_CONTEXTS);
  // One for all hosts, because making a key costs as much as all the rest.
  const leaf = newKey();
  const leafPem = pemOf(leaf);
  return {
    certificate,
    seed: createHmac('sha256', pemOf({ privateKey: key }))
      .update('placeholders')
      .digest(),
    contextFor(host) {
      const known = contexts.get(host);
      const made =
        known !== undefined && Date.now() - known.madeAt < CONTEXT_LIFE_MS
          ? known
          : { context: newContext(certifyHost(host, leaf.publicKey, key), leafPem), madeAt: Date.now() };
      contexts.set(host, made);
      return made.context;
    },
  };
}

function newContext(certificate: string, privateKey: string): SecureContext {
  return createSecureContext({ key: privateKey, cert: certificate, minVersion: 'TLSv1.2' });
}

function newKey(): { readonly publicKey: KeyObject; readonly privateKey: KeyObject } {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' });
}

function pemOf({ privateKey }: { readonly privateKey: KeyObject }): string {
  return privateKey.export({ format: 'pem', type: 'pkcs8' }).toString();
}

/** Undefined if there is none that can be used. */
async function readAuthority(path: string): Promise<KeyWithCertificate | undefined> {
  try {
    const pem = (await readBounded(path, MAX_FILE_BYTES)).toString('latin1');
    const [key, found] = [createPrivateKey(pem), new X509Certificate(pem)];
    const isOurs = found.ca && found.subject === `CN=${AUTHORITY_NAME}` && found.checkPrivateKey(key);
    const isValid = found.verify(found.publicKey) && key.asymmetricKeyDetails?.namedCurve === 'prime256v1';
    const hasTime = Date.parse(found.validFrom) <= Date.now() && Date.parse(found.validTo) > Date.now() + LEAF_LIFE_MS;
    return isOurs && isValid && hasTime ? { key, certificate: found.toString() } : undefined;
  } catch {
    // Missing, unreadable or not PEM: whatever it is, a new one serves as well, and the sandboxes of this process get that.
    return undefined;
  }
}

async function makeAuthority(folder: string, path: string): Promise<KeyWithCertificate> {
  try {
    await ensureDirectory(folder);
    return await withFileLock(`${path}.lock`, async () => {
      const made = await readAuthority(path);
      if (made !== undefined) {
        return made; // By another process, which had the lock before.
      }
      const pair = newKey();
      const certificate = certifyAuthority(pair.privateKey);
      await writeAtomically(path, [pemOf(pair), certificate]);
      return { key: pair.privateKey, certificate };
    });
  } catch (error) {
    throw new BridgeError('STATE_WRITE_FAILED', `${path} could not be written: ${messageOf(error)}`, {
      hint: 'Make the folder writable, or set MCP_BRIDGE_STATE_DIR to one that is.',
      cause: error,
    });
  }
}
