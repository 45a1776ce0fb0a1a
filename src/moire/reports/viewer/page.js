// Shows a page of the report that is named after the # in the address; nothing from elsewhere.
'use strict';
const place = decodeURIComponent(location.hash.slice(1));
if (/^\.\.\/finding-\d+\/[\w.-]+$/.test(place)) document.querySelector('iframe').src = place;
