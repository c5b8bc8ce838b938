#pragma once
#include "calibrate/import/importer.hpp"
#include "calibrate/import/xml_node.hpp"

namespace linkcast::topology_import {

/// What NCCL believes that was told this file: NVLinks that no GPU has count as well, those to unknown GPUs do not.
/// @returns  a record of schema topology/1
Json told_record(const ImportRequest& request, XmlFile file);

}  // namespace linkcast::topology_import
