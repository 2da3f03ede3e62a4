import { Fragment } from 'react';
import { texts } from '../texts/common.ts';

/** A path such as `shop/web/order-paid`, which may wrap after its slashes. */
export function EventPath({ path }: { path: string | null }) {
  if (!path) return texts.deletedEvent;
  return path.split('/').map((slug, i) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: two slugs can be equal, only the position differs
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
