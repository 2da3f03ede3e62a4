/** The API's limit of slugs. */
const maxSlugLength = 100;

/** Derives a slug from a name: `Text messages` becomes `text-messages`. */
export function slugFrom(name: string): string {
  const plain = name.normalize('NFKD').replaceAll(/\p{M}/gu, '').toLowerCase();
  const words = plain.replaceAll(/[^a-z0-9]+/g, '-').replace(/^-+/, '');
  return words.slice(0, maxSlugLength).replace(/-+$/, '');
}
