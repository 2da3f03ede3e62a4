/**
 * The documents that the service shows, and their addresses. They are read from the package on the first request and
 * cached: about forty small files, each rendered in its own turn of the event loop.
 */
import { readdir, readFile } from 'node:fs/promises';
import { setImmediate } from 'node:timers/promises';
import { type RenderedDocument, renderMarkdown } from './markdown.ts';

export interface Page extends RenderedDocument {
  address: string;
}
export interface Library {
  /** By address, in the order of the navigation. */
  pages: Map<string, Page>;
  groups: { title: string; pages: Page[] }[];
  /** Images and examples that pages use, by address. */
  files: Map<string, URL>;
}

const root = new URL('../../../../', import.meta.url);

/** Documents for operators; those for developers are only in the repository. */
const reference = {
  'docs/configuration.md': '/docs/configuration',
  'docs/accounts.md': '/docs/accounts',
  'docs/security.md': '/docs/security',
  'CHANGELOG.md': '/docs/changelog',
};

let loading: Promise<Library> | undefined;

export function openLibrary(): Promise<Library> {
  loading ??= load().catch(error => {
    loading = undefined; // The next request tries again.
    throw error;
  });
  return loading;
}

async function load(): Promise<Library> {
  const guides = await listFolder('guides', '.md');
  const providers = await listFolder('providers', '.md');
  const images = await listFolder('images', '.png', '.svg');
  const examples = await listFolder('examples', '.yaml', '.mjs', '.html');
  const pageOf: Record<string, string> = { ...guides, ...reference, ...providers };
  const addressOf: Record<string, string> = {
    ...pageOf,
    ...images,
    ...examples,
    'docs/guides': '/docs/guides',
    'docs/providers': '/docs/providers',
  };

  const pages = new Map<string, Page>();
  for (const [file, address] of Object.entries(pageOf)) {
    const rendered = renderMarkdown(await readFile(new URL(file, root), 'utf8'), file, target => addressOf[target]);
    pages.set(address, { address, ...rendered });
    await setImmediate();
  }
  const group = (title: string, files: object) => ({
    title,
    pages: Object.values(files).map((address: string) => pages.get(address)!),
  });
  const files = Object.entries({ ...images, ...examples });
  return {
    pages,
    groups: [group('Guides', inOrder(guides, pages)), group('Reference', reference), group('Providers', providers)],
    files: new Map(files.map(([file, address]) => [address, new URL(file, root)])),
  };
}

/** Returns addresses by file. README.md is the page of the folder itself and comes first. */
async function listFolder(folder: string, ...endings: string[]): Promise<Record<string, string>> {
  const names = (await readdir(new URL(`docs/${folder}/`, root))).filter(name =>
    endings.some(ending => name.endsWith(ending)),
  );
  names.sort((a, b) => Number(b === 'README.md') - Number(a === 'README.md') || a.localeCompare(b));
  const addressOf = (name: string) =>
    name === 'README.md' ? `/docs/${folder}` : `/docs/${folder}/${name.replace(/\.md$/, '')}`;
  return Object.fromEntries(names.map(name => [`docs/${folder}/${name}`, addressOf(name)]));
}

/** Sorts the guides in the order in which their README links them. */
function inOrder(guides: Record<string, string>, pages: Map<string, Page>): Record<string, string> {
  const index = pages.get('/docs/guides')!.html;
  const positionOf = (address: string) => index.indexOf(`href="${address}"`);
  return Object.fromEntries(Object.entries(guides).sort(([, a], [, b]) => positionOf(a) - positionOf(b)));
}
