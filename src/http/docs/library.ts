/**
 * Which documents the service shows, and where. They are read from the package when somebody first asks for one, and
 * kept: about forty small files, each rendered on its own turn of the event loop.
 */
import { readdir, readFile } from 'node:fs/promises';
import { setImmediate } from 'node:timers/promises';
import { type Rendered, renderMarkdown } from './markdown.ts';

export interface Page extends Rendered {
  address: string;
}
export interface Library {
  /** By address, in the order of the navigation. */
  pages: Map<string, Page>;
  groups: { title: string; pages: Page[] }[];
  /** What pages show or link to: address to file. */
  files: Map<string, URL>;
}

const root = new URL('../../../', import.meta.url);

/** For those who run it; what only its developers read stays in the repository. */
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

/** File to address; README.md is the page of the folder itself, and comes first. */
async function listFolder(folder: string, ...endings: string[]): Promise<Record<string, string>> {
  const names = (await readdir(new URL(`docs/${folder}/`, root))).filter(name =>
    endings.some(ending => name.endsWith(ending)),
  );
  names.sort((a, b) => Number(b === 'README.md') - Number(a === 'README.md') || a.localeCompare(b));
  const addressOf = (name: string) =>
    name === 'README.md' ? `/docs/${folder}` : `/docs/${folder}/${name.replace(/\.md$/, '')}`;
  return Object.fromEntries(names.map(name => [`docs/${folder}/${name}`, addressOf(name)]));
}

/** Guides stand in the order in which their README names them. */
function inOrder(guides: Record<string, string>, pages: Map<string, Page>): Record<string, string> {
  const index = pages.get('/docs/guides')!.html;
  const placeOf = (address: string) => index.indexOf(`href="${address}"`);
  return Object.fromEntries(Object.entries(guides).sort(([, a], [, b]) => placeOf(a) - placeOf(b)));
}
