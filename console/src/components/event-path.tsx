import { Fragment } from 'react';
import { texts } from '../texts/common.ts';

/** `shop/web/order-paid`, which breaks after its slashes where it must. */
export function EventPath({ path }: { path: string | null }) {
  if (!path) return texts.deletedEvent;
  return path.split('/').map((slug, i) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: the place is what tells two equal slugs apart
    <Fragment key={i}>
      {i > 0 && (
        <>
          /<wbr />
        </>
      )}
      {slug}
    </Fragment>
  ));
}
