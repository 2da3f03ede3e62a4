/** Checks every response in the tests against the OpenAPI document: its status must be documented. */
import { readFileSync } from 'node:fs';
import { routes } from '../../src/http/routes.ts';

const document = JSON.parse(readFileSync(new URL('../../openapi.json', import.meta.url), 'utf8')) as {
  paths: Record<string, Record<string, { responses: Record<string, unknown> }>>;
};

/** Paths with fewer parameters first, because a fixed segment takes precedence over a parameter. */
const operations = routes
  .map(({ method, path }) => ({
    method,
    path,
    form: new RegExp(`^${path.replace(/\/$/, '').replaceAll(/:\w+/g, '[^/]+')}/?$`),
    listed: document.paths[path.replaceAll(/:(\w+)/g, '{$1}')]?.[method.toLowerCase()]?.responses ?? {},
    parameters: path.split(':').length,
  }))
  .sort((a, b) => a.parameters - b.parameters);

/** Returns an error message for an undocumented status; undefined if it is documented, or no operation matches. */
export function findUndocumented(method: string, url: string, status: number): string | undefined {
  // The request matched another path, such as one with a fixed segment in place of a parameter.
  if (status === 405) return undefined;
  const [path = ''] = url.split('?', 1);
  const asked = method === 'HEAD' ? 'GET' : method;
  const operation = operations.find(one => one.method === asked && one.form.test(path));
  if (!operation || Object.hasOwn(operation.listed, status)) return undefined;
  return `${asked} ${operation.path} answered ${status}, which openapi.json does not list: add it to \`problems\` of the route`;
}
