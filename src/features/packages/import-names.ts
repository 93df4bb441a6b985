/**
 * Which distribution has a module that is imported under another name. Only names that differ; any other module is looked up
 * under its own name. Chosen by hand: what the documentation of well-known projects says to install and to import. For a module
 * that several distributions have, such as `cv2`, the one that suits a sandbox without a screen.
 */
import { isPackageName, normalizeName } from './requirement.ts';

const DISTRIBUTIONS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    attr: 'attrs',
    Bio: 'biopython',
    bs4: 'beautifulsoup4',
    Crypto: 'pycryptodome',
    cv2: 'opencv-python-headless',
    dateutil: 'python-dateutil',
    docx: 'python-docx',
    dotenv: 'python-dotenv',
    fitz: 'pymupdf',
    fpdf: 'fpdf2',
    googleapiclient: 'google-api-python-client',
    jose: 'python-jose',
    jwt: 'pyjwt',
    magic: 'python-magic',
    markdown_it: 'markdown-it-py',
    MySQLdb: 'mysqlclient',
    OpenSSL: 'pyopenssl',
    pdfminer: 'pdfminer-six',
    PIL: 'pillow',
    pkg_resources: 'setuptools',
    pptx: 'python-pptx',
    psycopg2: 'psycopg2-binary',
    pythonjsonlogger: 'python-json-logger',
    ruamel: 'ruamel-yaml',
    serial: 'pyserial',
    skimage: 'scikit-image',
    sklearn: 'scikit-learn',
    slugify: 'python-slugify',
    snappy: 'python-snappy',
    yaml: 'pyyaml',
    zmq: 'pyzmq',
  }),
);

/**
 * A requirement as its author meant it: whoever asks for `sklearn` or `docx` wants the distribution with that module, and not
 * the one that happens to have its name. Only for a bare name.
 */
export function meantRequirement(text: string): string {
  return DISTRIBUTIONS.get(text.trim()) ?? text;
}

/** The distribution to look up for a top-level module; undefined if its name cannot be that of one. */
export function distributionOf(module: string): string | undefined {
  const known = DISTRIBUTIONS.get(module);
  if (known !== undefined) {
    return known;
  }
  return isPackageName(module) ? normalizeName(module) : undefined;
}
