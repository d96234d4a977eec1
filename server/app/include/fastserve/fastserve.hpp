// All of fastserve. See README.md for an example and docs/ARCHITECTURE.md for how it works.
#pragma once

#include <fastserve/awaiting.hpp>
#include <fastserve/error.hpp>
#include <fastserve/files.hpp>
#include <fastserve/form.hpp>
#include <fastserve/middleware.hpp>
#include <fastserve/multipart.hpp>
#include <fastserve/request.hpp>
#include <fastserve/response.hpp>
#include <fastserve/router.hpp>
#include <fastserve/server.hpp>
#include <fastserve/types.hpp>
#include <fastserve/worker.hpp>
