#pragma once

#include <stddef.h>

/// A file that was built into the program. `bytes` is in the program's read-only data: valid as long as the process
/// runs, to be read from any thread, never freed, and not followed by a NUL.
typedef struct {
    const unsigned char *_Nonnull bytes;
    size_t count;
} cresources_file;

/// The HTTP contract, `openapi.yaml` at the repository's root.
cresources_file cresources_openapi_yaml(void);

/// The contract of the admin port, `openapi-admin.yaml` at the repository's root.
cresources_file cresources_openapi_admin_yaml(void);

/// The JavaScript client, `Clients/JavaScript/mvi-client.js`, an ES module.
cresources_file cresources_mvi_client_js(void);

/// The demo page: `page/index.html`.
cresources_file cresources_index_html(void);
/// `base.css` and `page/style.css`.
cresources_file cresources_style_css(void);
/// `page/app.js`, an ES module.
cresources_file cresources_app_js(void);
/// `page/icon.svg`.
cresources_file cresources_icon_svg(void);

/// The inspector's page on the admin port: `inspector/index.html`.
cresources_file cresources_inspector_html(void);
/// `base.css` and `inspector/inspector.css`.
cresources_file cresources_inspector_css(void);
/// `inspector/inspector.js`, an ES module.
cresources_file cresources_inspector_js(void);
