/** The address of an organization's logo, which recipient pages load and list in their Content-Security-Policy. */

/**
 * The host is plain ASCII: `*` would be a wildcard in the policy, and a percent-encoded or full-width `;` would start another
 * directive there.
 */
export const logoUrlPattern =
  '^https://[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?(:[0-9]{1,5})?([/?#][^\\s"<>\';,\\u0000-\\u001f\\u007f]*)?$';

const pattern = new RegExp(logoUrlPattern, 'u');

/** Returns the origin to allow in a policy; undefined for addresses that no page may load, which earlier versions stored. */
export function logoOriginOf(url: string | null | undefined): string | undefined {
  return url && pattern.test(url) && URL.canParse(url) ? new URL(url).origin : undefined;
}
