/** Certificates of an authority that exists only in one test, made by the program `openssl`. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface TestAuthority {
  /** PEM, for programs that take a file of authorities. */
  readonly file: string;
  /** A key and a certificate for these names and addresses. A name may start with `*.`. */
  issue(names: readonly string[]): { readonly key: Buffer; readonly cert: Buffer };
  remove(): void;
}

/** Python 3.13 and later refuse an authority without key usage and key identifiers (VERIFY_X509_STRICT). */
const AUTHORITY = `[req]
distinguished_name = subject
x509_extensions = authority
[subject]
[authority]
basicConstraints = critical, CA:TRUE
keyUsage = critical, keyCertSign, cRLSign
subjectKeyIdentifier = hash
`;
const NEW_KEY = [
  'req',
  '-newkey',
  'ec',
  '-pkeyopt',
  'ec_paramgen_curve:prime256v1',
  '-nodes',
  '-config',
  'openssl.cnf',
];

export function createAuthority(): TestAuthority {
  const folder = mkdtempSync(join(tmpdir(), 'authority-'));
  const openssl = (args: readonly string[]): void => {
    execFileSync('openssl', args, { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] });
  };
  writeFileSync(join(folder, 'openssl.cnf'), AUTHORITY);
  openssl([...NEW_KEY, '-x509', '-days', '2', '-subj', '/CN=test internet', '-keyout', 'ca.key', '-out', 'ca.crt']);
  return {
    file: join(folder, 'ca.crt'),
    issue(names) {
      const alternatives = names.map((name) => `${isIP(name) === 0 ? 'DNS' : 'IP'}:${name}`).join(',');
      const extensions = [
        `subjectAltName=${alternatives}`,
        'basicConstraints=CA:FALSE',
        'authorityKeyIdentifier=keyid',
      ];
      writeFileSync(join(folder, 'leaf.ext'), `${extensions.join('\n')}\nsubjectKeyIdentifier=hash\n`);
      openssl([...NEW_KEY, '-subj', '/CN=leaf', '-keyout', 'leaf.key', '-out', 'leaf.csr']);
      const signing = ['-CA', 'ca.crt', '-CAkey', 'ca.key', '-CAcreateserial', '-days', '2', '-extfile', 'leaf.ext'];
      openssl(['x509', '-req', '-in', 'leaf.csr', ...signing, '-out', 'leaf.crt']);
      return { key: readFileSync(join(folder, 'leaf.key')), cert: readFileSync(join(folder, 'leaf.crt')) };
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
